// SPDX-License-Identifier: BSL-1.0
// workload: the benchmarks of P0089R0, each defined next to the code that it runs.
#pragma once

#include "lab/measure/heap_litter.hpp"
#include "lab/suites/frame/workload.hpp"
#include "strategy.hpp"

namespace millpond::p0089 {

using frame::metric, frame::outcome, frame::parameter, frame::point, frame::workload;

// Returns: the strategy of a point.
[[nodiscard]] inline strategy by(const point& asked) { return all_strategies()[asked.contender]; }

// For workloads in which the end of a structure makes no difference.
inline bool takes_what_destroys(std::size_t place) {
    const strategy asked = all_strategies()[place];
    return !asked.winks && asked.is_usual();
}

// Effects: runs the point once with new and delete behind the base class, and notes every block that it asks for: the
// same blocks for every strategy.
void note_blocks(const point& asked, measure::heap_litter& blocks);

extern const workload structures, locality, utilization, contention, dials;

}  // namespace millpond::p0089
