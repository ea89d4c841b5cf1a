// SPDX-License-Identifier: BSL-1.0
// debug_file: finds the symbols and the debug information of an ELF file that are not in the file itself.
//
//   1  FOLDER/.build-id/1c/9f04….debug               by the build-id, in each folder of debug information
//   2  NAME next to the file, in .debug there, and in FOLDER/its folders/       by .gnu_debuglink, whose CRC is checked
//   3  from debuginfod, if DEBUGINFOD_URLS is set                               otherwise nothing is downloaded
//
// libdwfl searches. The folders are those in MILLPOND_DEBUG_PATH (`--debug-dir`), separated by colons, then
// usr/lib/debug below MILLPOND_SYSROOT (`--sysroot`), then /usr/lib/debug. NAME.gz, NAME.xz and NAME.zst are also
// accepted, which libdwfl does not look for. A file of another build is rejected. A build without libdw finds nothing.
// Not thread-safe.
#pragma once

#include <string>

#include "lab/symbols/elf_file.hpp"

namespace millpond::symbols {

struct debug_file {
    std::string path;  // empty: not found
    std::string why;   // if empty: the reason, as a half-sentence with what to do
};

// Finds the file for `file`, which was opened from `path`.
debug_file find_debug_file(const elf_file& file, const std::string& path);

// Returns the file of a recorded module: the one below MILLPOND_SYSROOT if it exists there, otherwise `path` itself.
std::string module_file(const std::string& path);

}  // namespace millpond::symbols
