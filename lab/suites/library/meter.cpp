// SPDX-License-Identifier: BSL-1.0
#include "meter.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "lab/replay/clocks.hpp"

namespace millpond::suites {
namespace {

constexpr unsigned most_groups = 5;
constexpr double patience_ns = 10e9;
constexpr double shortest_cold_ns = 5e3;  // reading the clock takes a tenth of it

std::uint64_t bytes_of(const char* text, const char* key) noexcept {
    const char* const found = std::strstr(text, key);
    return found == nullptr ? 0 : std::strtoull(found + std::strlen(key), nullptr, 10) * 1024;
}

double cpu_ns() noexcept { return replay::process_cpu_seconds() * 1e9; }

}  // namespace

resident_bytes read_resident() noexcept {
    const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    char text[8192];
    const ssize_t got = ::read(file, text, sizeof text - 1);
    ::close(file);
    text[got > 0 ? got : 0] = '\0';
    return {bytes_of(text, "VmRSS:"), bytes_of(text, "VmHWM:")};
}

void restart_peak() noexcept {
    const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    [[maybe_unused]] const ssize_t done = ::write(file, "5", 1);
    ::close(file);
}

double median(std::span<double> values) noexcept {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void stopwatch::start() noexcept { started_ = cpu_ns(); }
double stopwatch::elapsed_ns() const noexcept { return cpu_ns() - started_; }

resident_meter::resident_meter() noexcept : base_bytes_(read_resident().now) { restart_peak(); }

void resident_meter::finish(outcome& result) const noexcept {
    const resident_bytes resident = read_resident();
    result.base_bytes = base_bytes_;
    result.peak_bytes = resident.peak;
    result.end_bytes = resident.now;
}

void measure_groups(pass& work, std::uint64_t units, std::uint64_t scale_units, outcome& result) {
    const std::uint64_t repetitions = std::max<std::uint64_t>(1, scale_units / (units * most_groups));
    // Large structures: fewer groups, for each costs a whole repetition.
    const unsigned wanted = units * 2 > scale_units ? 3 : most_groups;
    std::array<double, most_groups> groups{};
    const std::uint64_t faults = replay::page_faults();
    const double begun = cpu_ns();
    unsigned done = 0;
    double now = begun;
    while (done < wanted && (done == 0 || now - begun < patience_ns)) {
        const double started = now;
        work.repeat(repetitions);
        now = cpu_ns();
        groups[done++] = (now - started) / static_cast<double>(repetitions * units);
    }
    result.faults = static_cast<double>(replay::page_faults() - faults) / done;
    result.warm_ns = median({groups.data(), done});
    result.units = units * repetitions * done;
}

outcome measure(pass& work, std::uint64_t units, std::uint64_t scale_units) {
    outcome result;
    const resident_meter resident;
    const stopwatch clock;
    result.checksum = work.repeat(1);
    const double cold = clock.elapsed_ns();
    if (cold >= shortest_cold_ns) result.cold_ns = cold / static_cast<double>(units);
    measure_groups(work, units, scale_units, result);
    resident.finish(result);
    return result;
}

}  // namespace millpond::suites
