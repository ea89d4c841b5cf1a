// SPDX-License-Identifier: BSL-1.0
// unpack: what gzip, xz and zstd have compressed, and ELF files whose sections zstd has compressed.
//
// Use it for debug information: distributions and builds compress whole files and single sections, and the libelf of
// many systems reads zlib's only. What this build has no library for, and what is damaged, gives nothing. Thread-safe.
#pragma once

#include <string_view>
#include <vector>

namespace millpond::symbols {

// Which program made it: "gzip", "xz", "zstd"; empty: none of these.
std::string_view packer_of(std::string_view content) noexcept;

// The content; empty where it cannot be had.
std::vector<char> unpack(std::string_view packed);

// Whether sections of this ELF file (64 bits) are compressed by zstd.
bool has_zstd_sections(std::string_view file) noexcept;

// The same file, these sections decompressed; empty where that cannot be done.
std::vector<char> without_zstd_sections(std::string_view file);

}  // namespace millpond::symbols
