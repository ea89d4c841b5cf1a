// SPDX-License-Identifier: BSL-1.0
// frame_entries: decodes the extents of functions from call-frame information, which every module needs for unwinding.
//
//   .eh_frame  │ CIE: how addresses are coded │ FDE: first, length │ FDE │ … │ CIE │ FDE │ … │ 0
//
// Use it if symbols were stripped. O(bytes); every read is checked against the end of the section. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/symbols/elf_file.hpp"

namespace millpond::symbols {

// Returns the ranges in the order of the section. `address`: the section's place in the file's address space. An entry
// that cannot be decoded is left out; damage ends the list.
std::vector<address_range> decode_frame_entries(std::string_view section, std::uint64_t address, unsigned word_bytes);

}  // namespace millpond::symbols
