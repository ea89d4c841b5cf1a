// SPDX-License-Identifier: BSL-1.0
// unpack: decompresses data packed by gzip, xz and zstd, and ELF files whose sections are compressed by zstd.
//
// Use it for debug information: distributions and builds compress whole files and single sections, and the libelf of
// many systems reads only zlib's. Returns nothing for damaged data, or if the library was missing when Millpond was
// built. Thread-safe.
#pragma once

#include <string_view>
#include <vector>

namespace millpond::symbols {

// Returns the program that packed it: "gzip", "xz", "zstd"; empty for other content.
std::string_view packer_of(std::string_view content) noexcept;

// Returns the content; empty if it cannot be unpacked.
std::vector<char> unpack(std::string_view packed);

// Returns whether sections of this 64-bit ELF file are compressed by zstd.
bool has_zstd_sections(std::string_view file) noexcept;

// Returns the same file with these sections decompressed; empty if that fails.
std::vector<char> without_zstd_sections(std::string_view file);

}  // namespace millpond::symbols
