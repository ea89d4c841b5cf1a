// SPDX-License-Identifier: BSL-1.0
// passes: runs a pass often enough to time it (once cold, then in groups), and reports what was resident.
//
//   base │ 1 repetition: cold_ns │ group │ group │ group │ group │ group │ end     warm_ns: the median of the groups
//        └ the kernel's peak starts here
#pragma once

#include <cstdint>
#include <span>

#include "lab/suites/common/meter.hpp"
#include "workload.hpp"

namespace millpond::frame {

// The work that is measured; derive a class for each workload and contender.
class pass {
  public:
    virtual ~pass() = default;
    // Effects: does the work so many times. Returns: the checksum of the last repetition.
    virtual std::uint64_t repeat(std::uint64_t repetitions) = 0;
};

double median(std::span<double> values) noexcept;

// Runs the pass. `units`: those of one repetition; `scale_units`: the approximate number in all groups together, with
// at least one repetition a group. Groups that would take longer than about ten seconds in all are left out, except
// one.
outcome measure_passes(pass& work, std::uint64_t units, std::uint64_t scale_units);

// Runs only the groups, after the caller's own cold pass, and sets units, warm_ns and page_faults.
void measure_groups(pass& work, std::uint64_t units, std::uint64_t scale_units, outcome& result);

// Effects: sets the resident bytes, now and at the peak since the meter's construction: of the process, and above its
// base.
void set_resident(outcome& result, const suites::resident_meter& since);

}  // namespace millpond::frame
