// SPDX-License-Identifier: BSL-1.0
// contenders: the functions of the talk that count the different characters of a string, and ours beside them.
//
//   set:pmr_monotonic(buffer):base:destroy     container : allocator (on a buffer of the stack) : binding : disposal
//   bitset, array                              what needs no allocator
//   1.1 … 4A                                   aliases: the talk's numbers
//
// Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lab/suites/common/unique_characters.hpp"

namespace millpond::unique_chars {

struct contender {
    std::string_view name, alias;
    // Returns: the sum of so many counts, of the strings one by one and again from the first.
    std::uint64_t (*count)(const suites::character_strings& texts, std::uint64_t calls);
    bool keeps_chunks = false;  // in our chunk cache, when its pool is gone
};

std::span<const contender> contenders();

// Effects: counts by the talk's sets, std::set and std::unordered_set in turn, whose blocks are noted.
void count_noted(const suites::character_strings& texts, std::uint64_t calls);

}  // namespace millpond::unique_chars
