// SPDX-License-Identifier: BSL-1.0
// trace_set: the traces that one recording left: FILE (the root process) and its siblings FILE.PID, FILE.PID.IMAGE.
//
// Use it wherever a user names one FILE and means every process of the recording. The name is not enough to make a file
// a member: each file's process block names its recording. O(entries of the directory), and one small read for each
// file with such a name.
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

// The facts in a file about its origin.
struct trace_origin {
    bool is_trace = false;        // it begins as a trace does
    bool is_known = false;        // its process block could be read
    std::uint64_t recording = 0;  // 0: from before recordings had numbers
    std::uint64_t pid = 0, first_tick = 0;
};

// Never throws for the content of the file; a missing file is not a trace.
trace_origin read_origin(const std::string& path);

// Returns files named FILE.DIGITS or FILE.DIGITS.DIGITS, with any content, by pid and image. Throws std::system_error
// if the directory cannot be read.
std::vector<trace_file> numbered_siblings(const std::string& file);

// Returns FILE first (if it exists), then its siblings of the same recording, by pid and image. A sibling whose process
// block is damaged counts as a member. Empty if there is no file. Throws as numbered_siblings.
std::vector<trace_file> find_trace_set(const std::string& file);

}  // namespace millpond::trace
