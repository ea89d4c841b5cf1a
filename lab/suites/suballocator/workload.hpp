// SPDX-License-Identifier: BSL-1.0
// workload: the benchmarks of the Counter Tree Library's suballocator (2012), each defined next to the code that it
// runs.
#pragma once

#include <cstdint>
#include <optional>

#include "lab/suites/common/meter.hpp"
#include "lab/suites/frame/workload.hpp"

namespace millpond::suballocator_suite {

using frame::metric, frame::outcome, frame::parameter, frame::point, frame::workload;

extern const workload doubles, five_operations, larger_blocks, set_inserts, containers;

[[nodiscard]] inline std::uint64_t count_of(const point& asked) { return asked.count("count"); }

// Returns: CPU seconds of a step.
template <class Step>
[[nodiscard]] double seconds_of(Step step) {
    const suites::stopwatch clock;
    step();
    return clock.elapsed_ns() * 1e-9;
}

// Returns: the resident bytes above `base`.
[[nodiscard]] inline double resident_above(std::uint64_t base) {
    const std::uint64_t now = suites::resident_bytes();
    return now > base ? static_cast<double>(now - base) : 0.0;
}

// Returns: the share of resident memory that remains; nothing if it was too little for the kernel to count.
[[nodiscard]] inline frame::figure kept_share(double full_bytes, double kept_bytes) {
    if (full_bytes <= 0.0) return {"kept_share", std::nullopt};
    return {"kept_share", kept_bytes / full_bytes};
}

}  // namespace millpond::suballocator_suite
