// SPDX-License-Identifier: BSL-1.0
// command_line: the suite's options, read without a library, so that nothing has been allocated on their behalf.
//
// O(options × arguments). Texts stay where argv has them.
#pragma once

#include <optional>
#include <string>

#include "cell.hpp"

namespace millpond::suites {

struct command_line {
    bool list = false;
    bool help = false;
    cell asked;
    std::string error;  // what was wrong, or empty
};

command_line read_command_line(int argc, char** argv);

// How the program is called.
extern const char usage[];

}  // namespace millpond::suites
