// SPDX-License-Identifier: BSL-1.0
// preload_check: finds a program as execvp would and says whether LD_PRELOAD reaches it.
//
//   "gawk" ──PATH──▶ /usr/bin/gawk ──#!?──▶ interpreter … ──▶ ELF image: dynamic? our machine? no changed privileges?
//
// Call it before a program is started under a preloaded library: where preloading cannot work, the dynamic linker says
// so in a warning at most, and an experiment would report the bare program. A program that is merely measured needs no
// such check. The answer holds for the moment of the call; it reads a few hundred bytes of each file on the way.
// Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace millpond::measure {

struct preloadable {
    std::string path;                       // what execve takes
    std::string image;                      // the ELF file whose code will run: the interpreter's for a script
    std::vector<std::string> modules = {};  // the libraries that it begins with (loaded_modules)
};

// Finds `program_as_given` (searched in PATH unless it contains a slash). Returns what execve takes. Throws failure,
// status 5: no such program, or it may not be executed.
std::string find_program(const std::string& program_as_given);

// Finds the program of a command and checks that a library can be preloaded into it. A script passes if the interpreter
// on its #! line does; of a dynamic linker that is called by name, and of commands that only start another one (env,
// nice, timeout …), the program behind it must. Throws failure, status 4: static, set-user-id, set-group-id, with file
// capabilities, of another machine or C library; the program or a library of it was built with a sanitizer whose
// runtime must be the malloc. Status 5: as above.
preloadable check_preloadable(const std::vector<std::string>& command);
inline preloadable check_preloadable(const std::string& program_as_given) {
    return check_preloadable(std::vector<std::string>{program_as_given});
}

}  // namespace millpond::measure
