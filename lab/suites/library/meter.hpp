// SPDX-License-Identifier: BSL-1.0
// meter: runs a pass often enough to time it: once cold, then in groups, and says what was resident.
//
//   base │ 1 repetition: cold_ns │ group │ group │ group │ group │ group │ end     warm_ns: the median of the groups
//        └ the kernel's peak starts here
//
// CPU time of the process, so that page faults and the system's part count. One thread.
#pragma once

#include <cstdint>
#include <span>

#include "cell.hpp"

namespace millpond::suites {

// What is measured; derive one for each workload and contender.
class pass {
  public:
    virtual ~pass() = default;
    // Effects: the work, so many times. Returns: the checksum of the last repetition.
    virtual std::uint64_t repeat(std::uint64_t repetitions) = 0;
};

// Resident bytes of this process, by the kernel's account; 0 where it does not say.
struct resident_bytes {
    std::uint64_t now = 0;
    std::uint64_t peak = 0;
};
resident_bytes read_resident() noexcept;
// From now on the peak counts anew, where the kernel allows it.
void restart_peak() noexcept;

double median(std::span<double> values) noexcept;

// Process CPU time from its construction or start on.
class stopwatch {
  public:
    stopwatch() noexcept { start(); }
    void start() noexcept;
    [[nodiscard]] double elapsed_ns() const noexcept;

  private:
    double started_ = 0;
};

// What becomes resident from its construction on: one for each process.
class resident_meter {
  public:
    resident_meter() noexcept;
    // Effects: writes what was and is resident into the outcome.
    void finish(outcome& result) const noexcept;

  private:
    std::uint64_t base_bytes_;
};

// Runs the pass. `units`: of one repetition; `scale_units`: about so many in all groups together, though at least one
// repetition a group. Groups that would take longer than about ten seconds in all are left out, but for one.
outcome measure(pass& work, std::uint64_t units, std::uint64_t scale_units);

// Runs the groups alone, after the caller's own cold pass, and writes units, warm_ns and faults.
void measure_groups(pass& work, std::uint64_t units, std::uint64_t scale_units, outcome& result);

}  // namespace millpond::suites
