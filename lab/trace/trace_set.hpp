// SPDX-License-Identifier: BSL-1.0
// trace_set: the traces that one recording left: FILE (the root process) and its siblings FILE.PID, FILE.PID.IMAGE.
//
// Use it wherever a user names one FILE and every process of the recording is meant. A name alone makes no file a
// member: each says in its process block to which recording it belongs. O(entries of the directory), and one small read
// for each file with such a name.
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

// What a file says of where it comes from.
struct trace_origin {
    bool is_trace = false;        // it begins as a trace does
    bool is_known = false;        // its process block could be read
    std::uint64_t recording = 0;  // 0: from before recordings had numbers
    std::uint64_t pid = 0, first_tick = 0;
};

// Never throws for what the file holds; a file that is not there is no trace.
trace_origin read_origin(const std::string& path);

// Files whose names are FILE.DIGITS or FILE.DIGITS.DIGITS, whatever they hold, by pid and image. Throws
// std::system_error where the directory cannot be read.
std::vector<trace_file> numbered_siblings(const std::string& file);

// FILE first (if it exists), then its siblings of the same recording, by pid and image. A sibling that is damaged where
// it would say so is a member. Empty if there is none. Throws as numbered_siblings.
std::vector<trace_file> find_trace_set(const std::string& file);

}  // namespace millpond::trace
