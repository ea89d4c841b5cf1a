// SPDX-License-Identifier: BSL-1.0
// workload: Case Study 1 of the talk "Understanding Allocator Impact on Runtime Performance"; Case Study 2 litters the
// heap first.
#pragma once

#include "lab/measure/littering.hpp"
#include "lab/suites/frame/workload.hpp"

namespace millpond::unique_chars {

extern const frame::workload unique_characters;

// Effects: notes the blocks of so many of the point's calls as litter_calls says.
void note_blocks(const frame::point& asked, measure::littering& blocks);

}  // namespace millpond::unique_chars
