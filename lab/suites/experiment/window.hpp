// SPDX-License-Identifier: BSL-1.0
// window: the measured part of a round.
//
//   constructed: what is resident now is the base ── start: clocks, page faults ── … ── stop: all of them into the
//   outcome
//
// What is built between construction and start is not timed, but counts as resident. CPU time of all threads.
#pragma once

#include <sys/resource.h>

#include "lab/replay/clocks.hpp"
#include "lab/suites/common/meter.hpp"
#include "workload.hpp"

namespace millpond::experiment {

inline std::uint64_t minor_faults() noexcept {
    rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt);
}

class window {
  public:
    void start() noexcept {
        faults_ = minor_faults();
        wall_seconds_ = replay::wall_seconds();
        cpu_seconds_ = replay::process_cpu_seconds();
    }
    void stop(outcome& result) const noexcept {
        result.cpu_seconds = replay::process_cpu_seconds() - cpu_seconds_;
        result.wall_seconds = replay::wall_seconds() - wall_seconds_;
        result.page_faults = minor_faults() - faults_;
        resident_.finish(result);
    }

  private:
    suites::resident_meter resident_;
    std::uint64_t faults_ = 0;
    double wall_seconds_ = 0;
    double cpu_seconds_ = 0;
};

}  // namespace millpond::experiment
