// SPDX-License-Identifier: BSL-1.0
// program_check: checks, before a program starts, that Valgrind can run it and that it has the function of a window.
//
//   program ──#!──▶ ELF: 64-bit x86, readable, not set-user-id?
//   window  ──▶ functions of the executable and of the libraries that it is linked with
//           ──▶ missing: refused, unless the program may open libraries or start others
//
// Reads the files' symbol tables, and their debug information if a function is missing. Thread-safe.
#pragma once

#include <string>

namespace millpond::references {

// Throws failure, one sentence with the remedy, if Valgrind cannot run the file at `path` (a path for execve).
void check_program(const std::string& path);

// Returns the symbol of the window's function: `window` itself, or the only symbol that demangles to it. Throws failure
// if there is no such function, or if it was inlined everywhere.
std::string check_window(const std::string& path, const std::string& window);

}  // namespace millpond::references
