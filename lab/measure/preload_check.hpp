// SPDX-License-Identifier: BSL-1.0
// preload_check: finds a program as execvp would, and checks whether LD_PRELOAD reaches it.
//
//   "gawk" ──PATH──▶ /usr/bin/gawk ──#!?──▶ interpreter … ──▶ ELF image: dynamic? our machine? no changed privileges?
//
// Call it before a program is started under a preloaded library. If preloading cannot work, the dynamic linker warns at
// most, and an experiment would report the bare program. A program that is only measured needs no such check. The
// answer holds for the moment of the call. It reads a few hundred bytes of each file on the way. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace millpond::measure {

struct preloadable {
    std::string path;                       // for execve
    std::string image;                      // the ELF file whose code will run: the interpreter's for a script
    std::vector<std::string> modules = {};  // the libraries that it starts with (loaded_modules)
};

// Finds `program_as_given` (searched in PATH unless it contains a slash). Returns the path for execve. Throws failure,
// status 5: no such program, or it may not be executed.
std::string find_program(const std::string& program_as_given);

// Finds the program of a command and checks that a library can be preloaded into it. A script passes if the interpreter
// on its #! line does. If a dynamic linker is called by name, or a command only starts another one (env, nice, timeout
// …), the program behind it is checked. Throws failure, status 4: static, set-user-id, set-group-id, with file
// capabilities, of another machine or C library; or the program or one of its libraries was built with a sanitizer
// whose runtime must be the malloc. Status 5: as above.
preloadable check_preloadable(const std::vector<std::string>& command);
inline preloadable check_preloadable(const std::string& program_as_given) {
    return check_preloadable(std::vector<std::string>{program_as_given});
}

}  // namespace millpond::measure
