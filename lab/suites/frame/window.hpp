// SPDX-License-Identifier: BSL-1.0
// window: the measured part of a round.
//
//   constructed: the base of what is resident ── start: instruments, clocks, page faults ── … ── stop: into the outcome
//
// Work between construction and start is not timed, but counts as resident. Work after stop counts as resident, too, if
// the caller asks for it (set_resident). CPU time is that of all threads. The measured work runs through measured_part,
// in every thread, so that a simulator can select it by name.
#pragma once

#include <sys/resource.h>

#include <optional>

#include "lab/measure/clocks.hpp"
#include "lab/measure/counters.hpp"
#include "lab/measure/perf_control.hpp"
#include "lab/suites/common/meter.hpp"
#include "workload.hpp"

namespace millpond::frame {

inline std::uint64_t minor_faults() noexcept {
    rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt);
}

// Instruments around the clocks, as the command line asks for them.
struct instruments {
    std::optional<measure::counters> counters;
    std::optional<measure::perf_control> control;
};
inline instruments* in_use = nullptr;

// Calls body(of), never inlined: `valgrind --tool=callgrind --toggle-collect=millpond_measured_window`.
extern "C" void millpond_measured_window(void (*body)(void*), void* of);

// Effects: runs body() as a part of what is measured. Not nested in one thread.
template <class Body>
void measured_part(Body body) {
    millpond_measured_window([](void* of) { (*static_cast<Body*>(of))(); }, &body);
}

class window {
  public:
    // Effects: runs body(); its cost goes into the result.
    template <class Body>
    void run(outcome& result, Body body) {
        start();
        measured_part([&] { body(); });
        stop(result);
    }

    // Effects: puts into the result what has been resident since construction, including work after run().
    void set_resident(outcome& result) const {
        const suites::resident_range resident = resident_.finish();
        result.set_count("peak_bytes", resident.peak_above_base());
        result.set_count("end_bytes", resident.end_above_base());
    }

  private:
    void start() {
        if (in_use != nullptr && in_use->control) in_use->control->enable();
        if (in_use != nullptr && in_use->counters) in_use->counters->start();
        faults_ = minor_faults();
        wall_seconds_ = measure::wall_seconds();
        cpu_seconds_ = measure::process_cpu_seconds();
    }
    void stop(outcome& result) const {
        const double cpu_seconds = measure::process_cpu_seconds() - cpu_seconds_;
        const double wall_seconds = measure::wall_seconds() - wall_seconds_;
        const std::uint64_t faults = minor_faults() - faults_;
        if (in_use != nullptr && in_use->counters) in_use->counters->stop();
        if (in_use != nullptr && in_use->control) in_use->control->disable();
        set_resident(result);
        result.set("cpu_seconds", cpu_seconds);
        result.set("wall_seconds", wall_seconds);
        result.set_count("page_faults", faults);
        if (in_use != nullptr && in_use->counters) result.counts = in_use->counters->read();
    }

    suites::resident_meter resident_;
    std::uint64_t faults_ = 0;
    double wall_seconds_ = 0;
    double cpu_seconds_ = 0;
};

}  // namespace millpond::frame
