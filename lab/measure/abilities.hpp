// SPDX-License-Identifier: BSL-1.0
// abilities: what the kernel lets this process do that a laboratory would like to: hardware counters, ptrace.
//
//   counters   perf_event_open for each event by itself ──▶ counts, or the exact reason why not
//   ptrace     a child that asks to be traced ──▶ stops for us, or the reason why not
//
// Nothing of the program under test depends on either: where they are absent, figures that need them are left out.
#pragma once

#include <string>
#include <vector>

#include "lab/measure/counters.hpp"

namespace millpond::measure {

struct ability {
    std::string name;
    bool available;
    std::string why_not;  // a half-sentence; empty where available
};

// Each counter that a figure might use: of the hardware first, then of the kernel.
std::vector<ability> counter_abilities();

// Returns: what a short loop counts of an event, or why nothing.
count try_event(const event& wanted);

ability ptrace_ability();

}  // namespace millpond::measure
