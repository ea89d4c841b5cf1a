// SPDX-License-Identifier: BSL-1.0
#include "passes.hpp"

#include <algorithm>
#include <array>

#include "lab/measure/clocks.hpp"

namespace millpond::frame {
namespace {

constexpr unsigned most_groups = 5;
constexpr double patience_ns = 10e9;
constexpr double shortest_cold_ns = 5e3;  // reading the clock takes a tenth of it

}  // namespace

double median(std::span<double> values) noexcept {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void measure_groups(pass& work, std::uint64_t units, std::uint64_t scale_units, outcome& result) {
    const std::uint64_t repetitions = std::max<std::uint64_t>(1, scale_units / (units * most_groups));
    // Large structures get fewer groups, because each group costs a whole repetition.
    const unsigned wanted = units * 2 > scale_units ? 3 : most_groups;
    std::array<double, most_groups> groups{};
    const std::uint64_t faults = measure::page_faults();
    const double begun = suites::cpu_ns();
    unsigned done = 0;
    double now = begun;
    while (done < wanted && (done == 0 || now - begun < patience_ns)) {
        const double started = now;
        work.repeat(repetitions);
        now = suites::cpu_ns();
        groups[done++] = (now - started) / static_cast<double>(repetitions * units);
    }
    result.set("page_faults", static_cast<double>(measure::page_faults() - faults) / done);
    result.set("warm_ns", median({groups.data(), done}));
    result.set_count("units", units * repetitions * done);
}

outcome measure_passes(pass& work, std::uint64_t units, std::uint64_t scale_units) {
    outcome result;
    const suites::resident_meter resident;
    const suites::stopwatch clock;
    result.checksum = work.repeat(1);
    const double cold = clock.elapsed_ns();
    if (cold >= shortest_cold_ns) result.set("cold_ns", cold / static_cast<double>(units));
    measure_groups(work, units, scale_units, result);
    set_resident(result, resident);
    return result;
}

void set_resident(outcome& result, const suites::resident_meter& since) {
    const suites::resident_range range = since.finish();
    result.set_count("peak_bytes", range.peak);
    result.set_count("end_bytes", range.end);
    result.set_count("resident_bytes", range.peak_above_base());
    result.set_count("left_bytes", range.end_above_base());
}

}  // namespace millpond::frame
