// SPDX-License-Identifier: BSL-1.0
// contenders: the functions of the talk "Understanding Allocator Impact on Runtime Performance" that count the
// different characters of a string, and ours beside them.
//
//   set:pmr_monotonic(buffer):base:destroy     container : allocator (on a buffer of the stack) : binding : disposal
//   bitset, array                              what needs no allocator
//   1.1 … 4A                                   aliases: the talk's numbers
//
// Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lab/suites/common/unique_characters.hpp"
#include "lab/suites/frame/contender.hpp"
#include "lab/suites/frame/workload.hpp"

namespace millpond::unique_chars {

// Returns: the sum of so many counts, of the strings one by one and again from the first.
using counting = std::uint64_t (*)(const suites::character_strings& texts, std::uint64_t calls);

std::span<const frame::contender> contenders();
counting counting_of(std::size_t contender);

// Effects: counts by the talk's sets, std::set and std::unordered_set in turn, whose blocks are noted.
void count_noted(const suites::character_strings& texts, std::uint64_t calls);

// Case Study 1; Case Study 2 litters the heap first.
extern const frame::workload unique_characters;

}  // namespace millpond::unique_chars
