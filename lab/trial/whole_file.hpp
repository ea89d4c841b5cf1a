// SPDX-License-Identifier: BSL-1.0
// whole_file: reads a small file, and writes one so that no reader meets half of it. Throw trial_error.
#pragma once

#include <string>

namespace millpond::trial {

std::string read_whole(const std::string& path);
// Into a file beside `path`, which is then renamed.
void write_whole(const std::string& path, const std::string& content);
// Whether write_whole will be able to: asked before a program is run for what would be written.
void check_writable(const std::string& path);

}  // namespace millpond::trial
