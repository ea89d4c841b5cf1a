// SPDX-License-Identifier: BSL-1.0
// workload: the benchmarks of P0089R0, each defined beside the code that it runs.
#pragma once

#include "lab/suites/experiment/workload.hpp"
#include "strategy.hpp"

namespace millpond::p0089 {

using experiment::outcome, experiment::parameter, experiment::point, experiment::workload;

// Returns: the strategy of a point.
[[nodiscard]] inline strategy by(const point& asked) { return all_strategies()[asked.strategy]; }

inline bool takes_all(std::size_t) { return true; }
// Where it makes no difference how a structure ends.
inline bool takes_what_destroys(std::size_t place) {
    const strategy asked = all_strategies()[place];
    return !asked.winks && asked.is_usual();
}

extern const workload structures, locality, utilization, contention, dials;

}  // namespace millpond::p0089
