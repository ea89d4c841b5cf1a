// SPDX-License-Identifier: BSL-1.0
// meter: what a process has used of the processor, and what of its memory is resident.
//
//   resident_meter ── base: resident now; the kernel's peak starts here ── finish: peak and end
//
// CPU time of the process, so that page faults and the system's part count. A few system calls each; one thread.
#pragma once

#include <cstdint>

namespace millpond::suites {

// Resident bytes of this process, by the kernel's account; 0 where it does not say.
std::uint64_t resident_bytes() noexcept;

// CPU time of the process, all of its threads.
double cpu_ns() noexcept;

// Process CPU time from its construction or start on.
class stopwatch {
  public:
    stopwatch() noexcept { start(); }
    void start() noexcept { started_ = cpu_ns(); }
    [[nodiscard]] double elapsed_ns() const noexcept { return cpu_ns() - started_; }

  private:
    double started_ = 0;
};

// Resident bytes of a part of the process's life. The kernel counts pages, and may have taken some of the base's away.
struct resident_range {
    std::uint64_t base = 0, peak = 0, end = 0;
    [[nodiscard]] std::uint64_t peak_above_base() const noexcept { return peak > base ? peak - base : 0; }
    [[nodiscard]] std::uint64_t end_above_base() const noexcept { return end > base ? end - base : 0; }
};

// What becomes resident from its construction on: one for each process.
class resident_meter {
  public:
    resident_meter() noexcept;
    [[nodiscard]] resident_range finish() const noexcept;

  private:
    std::uint64_t base_bytes_;
};

}  // namespace millpond::suites
