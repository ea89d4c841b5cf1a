// SPDX-License-Identifier: BSL-1.0
#include "meter.hpp"

#include <algorithm>

#include "emulator_memory.hpp"
#include "lab/measure/clocks.hpp"
#include "lab/measure/resident.hpp"

namespace millpond::suites {

namespace {

// Returns: the bytes without those of an emulator, whose count lags as the kernel's does.
std::uint64_t without(std::uint64_t emulator, std::uint64_t all) noexcept { return all - std::min(all, emulator); }

}  // namespace

std::uint64_t resident_bytes() noexcept { return without(emulator_bytes(), measure::resident_now().now_bytes); }

double cpu_ns() noexcept { return measure::process_cpu_seconds() * 1e9; }

resident_meter::resident_meter() noexcept : base_bytes_(resident_bytes()) { measure::reset_peak(); }

resident_range resident_meter::finish() const noexcept {
    const measure::resident last = measure::resident_now();
    // An emulator's own memory only grows, so it is not larger at the peak than now.
    const std::uint64_t emulator = emulator_bytes();
    return {base_bytes_, without(emulator, last.peak_bytes), without(emulator, last.now_bytes)};
}

}  // namespace millpond::suites
