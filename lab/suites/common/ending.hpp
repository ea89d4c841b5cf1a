// SPDX-License-Identifier: BSL-1.0
// ending: how the program of a suite ends: with its one line on standard output, or with a reason on standard error.
#pragma once

#include <cstdio>
#include <string>

namespace millpond::suites {

// Effects: says why, after `millpond: `. Returns: the exit status.
inline int fail(int status, const std::string& message) {
    std::fprintf(stderr, "millpond: %s\n", message.c_str());
    return status;
}

// Returns: 0, or 4 where the line could not be written.
inline int print(const std::string& line) {
    const bool is_written = std::puts(line.c_str()) >= 0 && std::fflush(stdout) == 0;
    return is_written ? 0 : fail(4, "cannot write the result");
}

}  // namespace millpond::suites
