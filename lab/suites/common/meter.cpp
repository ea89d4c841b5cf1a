// SPDX-License-Identifier: BSL-1.0
#include "meter.hpp"

#include "lab/measure/clocks.hpp"
#include "lab/measure/resident.hpp"

namespace millpond::suites {

std::uint64_t resident_bytes() noexcept { return measure::resident_now().now_bytes; }

double cpu_ns() noexcept { return measure::process_cpu_seconds() * 1e9; }

resident_meter::resident_meter() noexcept : base_bytes_(resident_bytes()) { measure::reset_peak(); }

resident_range resident_meter::finish() const noexcept {
    const measure::resident last = measure::resident_now();
    return {base_bytes_, last.peak_bytes, last.now_bytes};
}

}  // namespace millpond::suites
