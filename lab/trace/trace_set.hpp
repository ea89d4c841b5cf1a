// SPDX-License-Identifier: BSL-1.0
// trace_set: the traces that one recording left: FILE (the root process) and its siblings FILE.PID, FILE.PID.IMAGE.
//
// Use it wherever a user names one FILE and every process of the recording is meant. O(entries of the directory).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::trace {

struct trace_file {
    std::string path;
    std::uint64_t pid = 0;    // 0: FILE itself
    std::uint64_t image = 0;  // 1 and more: after an exec in the same process
};

// FILE first (if it exists), then by pid and image. Empty if there is none. Throws std::system_error where the
// directory cannot be read.
std::vector<trace_file> find_trace_set(const std::string& file);

}  // namespace millpond::trace
