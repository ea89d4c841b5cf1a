// SPDX-License-Identifier: BSL-1.0
// start_error: why a program cannot be started or preloaded, as the exit status that every native program shares and a
// line to print. The message is one sentence without the "millpond: " in front: whoever prints it adds that.
#pragma once

#include <string>

namespace millpond::measure {

struct start_error {
    static constexpr int input_missing = 3;        // a file that the program should read does not exist
    static constexpr int environment_lacks = 4;    // cannot be preloaded, no place to write, no memory for a process
    static constexpr int program_not_started = 5;  // not found, not executable, not a program

    int status;
    std::string message;
};

}  // namespace millpond::measure
