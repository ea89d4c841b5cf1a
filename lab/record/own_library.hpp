// SPDX-License-Identifier: BSL-1.0
// own_library: finds the preloaded libraries that belong to this program.
#pragma once

#include <filesystem>
#include <string>

namespace millpond::record {

// Returns the path of lib/millpond/NAME next to this program's folder. Throws std::filesystem::filesystem_error.
inline std::string own_library(const char* name) {
    namespace fs = std::filesystem;
    return (fs::read_symlink("/proc/self/exe").parent_path() / "../lib/millpond" / name).lexically_normal();
}

}  // namespace millpond::record
