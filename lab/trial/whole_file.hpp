// SPDX-License-Identifier: BSL-1.0
// whole_file: reads a small file, and writes one so that no reader meets half of it. Throw trial_error.
#pragma once

#include <cstddef>
#include <string>

namespace millpond::trial {

// Of a regular file of at most `bytes_max` bytes.
std::string read_whole(const std::string& path, std::size_t bytes_max);
// Into a file next to `path`, which is then renamed; into a device or a FIFO directly.
void write_whole(const std::string& path, const std::string& content);
// Whether write_whole will be able to: asked before a program is run for what would be written.
void check_writable(const std::string& path);

}  // namespace millpond::trial
