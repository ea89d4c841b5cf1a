// SPDX-License-Identifier: BSL-1.0
// clocks: CPU time (user and system, so that page faults count) and wall time. One system call each.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <cstdint>

namespace millpond::measure {

inline std::uint64_t ns_of(clockid_t clock) noexcept {
    timespec now;
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}
inline double seconds_of(clockid_t clock) noexcept {
    timespec now;
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
// CPU time of all threads, including threads of the malloc under test.
inline double process_cpu_seconds() noexcept { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
inline double thread_cpu_seconds() noexcept { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
inline double wall_seconds() noexcept { return seconds_of(CLOCK_MONOTONIC); }
inline std::uint64_t wall_ns() noexcept { return ns_of(CLOCK_MONOTONIC); }

inline std::uint64_t page_faults() noexcept {
    rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
}

}  // namespace millpond::measure
