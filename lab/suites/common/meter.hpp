// SPDX-License-Identifier: BSL-1.0
// meter: measures a process's use of the processor, and its resident memory.
//
//   resident_meter ── base: resident now; the kernel's peak starts here ── finish: peak and end
//
// CPU time is that of the process, so it includes page faults and the system's part. Under an emulator, its own memory
// is left out (emulator_memory.hpp). A few system calls each; one thread.
#pragma once

#include <cstdint>

namespace millpond::suites {

// Returns the resident bytes of this process, as the kernel reports them; 0 if it does not.
std::uint64_t resident_bytes() noexcept;

// Returns the CPU time of the process, all of its threads.
double cpu_ns() noexcept;

// Measures process CPU time from its construction or start on.
class stopwatch {
  public:
    stopwatch() noexcept { start(); }
    void start() noexcept { started_ = cpu_ns(); }
    [[nodiscard]] double elapsed_ns() const noexcept { return cpu_ns() - started_; }

  private:
    double started_ = 0;
};

// Resident bytes during a part of the process's life. The kernel counts pages, and may have evicted some of the base's.
struct resident_range {
    std::uint64_t base = 0, peak = 0, end = 0;
    [[nodiscard]] std::uint64_t peak_above_base() const noexcept { return peak > base ? peak - base : 0; }
    [[nodiscard]] std::uint64_t end_above_base() const noexcept { return end > base ? end - base : 0; }
};

// Measures what becomes resident after its construction: one for each process.
class resident_meter {
  public:
    resident_meter() noexcept;
    [[nodiscard]] resident_range finish() const noexcept;

  private:
    std::uint64_t base_bytes_;
};

}  // namespace millpond::suites
