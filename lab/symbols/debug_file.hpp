// SPDX-License-Identifier: BSL-1.0
// debug_file: where the symbols and the debug information of an ELF file lie, if not in itself.
//
//   1  FOLDER/.build-id/1c/9f04….debug               by the build-id, in each folder of debug information
//   2  NAME beside the file, in .debug beside it, and in FOLDER/its folders/    by .gnu_debuglink, whose CRC is checked
//   3  what debuginfod has, where DEBUGINFOD_URLS is set                        nothing is downloaded otherwise
//
// The folders are /usr/lib/debug and those that MILLPOND_DEBUG_PATH names, with colons between them. NAME.gz, NAME.xz
// and NAME.zst do as well. What is found but of another build is not taken. Not thread-safe.
#pragma once

#include <string>

#include "lab/symbols/elf_file.hpp"

namespace millpond::symbols {

struct debug_file {
    std::string path;  // empty: none
    std::string why;   // then: the reason, as a half-sentence with what to do
};

// `path` of the file that was opened as `file`.
debug_file find_debug_file(const elf_file& file, const std::string& path);

}  // namespace millpond::symbols
