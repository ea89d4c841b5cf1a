// SPDX-License-Identifier: BSL-1.0
// abilities: tests whether the kernel lets this process use hardware counters and ptrace.
//
//   counters   perf_event_open for each event by itself ──▶ counts, or the exact reason why not
//   ptrace     a child that asks to be traced ──▶ stops for us, or the reason why not
//
// The program under test needs neither: if they are missing, the figures that need them are left out.
#pragma once

#include <string>
#include <vector>

#include "lab/measure/counters.hpp"

namespace millpond::measure {

struct ability {
    std::string name;
    bool available;
    std::string why_not;  // a half-sentence; empty if available
};

// Returns each counter that a figure might use: the hardware's first, then the kernel's.
std::vector<ability> counter_abilities();

// Returns: an event's count over a short loop, or the reason why there is no count.
count try_event(const event& wanted);

ability ptrace_ability();

}  // namespace millpond::measure
