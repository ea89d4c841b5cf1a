// SPDX-License-Identifier: BSL-1.0
// program_check: whether Valgrind can run a program, and whether it has the function of a window, before it starts.
//
//   program ──#!──▶ ELF: 64-bit x86, readable, no rights of its owner's?
//   window  ──▶ functions of the executable and of the libraries that it is linked with
//           ──▶ not there: refused, unless the program may open libraries or start others
//
// Reads the files' symbol tables; where a function is missing, the debug information, too. Thread-safe.
#pragma once

#include <string>

namespace millpond::references {

// Throws failure, one sentence with the cure: Valgrind cannot run the file at `path`, as execve takes it.
void check_program(const std::string& path);

// The symbol of the window's function: `window` itself, or the only symbol that is written so when demangled. Throws
// failure: no such function, or one that was inlined everywhere.
std::string check_window(const std::string& path, const std::string& window);

}  // namespace millpond::references
