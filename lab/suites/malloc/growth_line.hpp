// SPDX-License-Identifier: BSL-1.0
// growth_line: computes the growth of a series of samples, as a share of its mean, with its confidence interval.
//
//   samples │ first quarter: left out │ 12 equal parts, the mean of each ─▶ least squares ─▶ growth from end to end
//
// Samples of a program's memory that are close in time are similar, so single samples would make the interval too
// narrow. The means of long parts are nearly independent. A value. O(samples).
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace millpond::malloc_suite {

struct growth_line {
    double share = 0, low = 0, high = 0;  // 95 %
    double mean = 0;

    static constexpr std::size_t parts = 12;
    // Student's t for parts - 2 degrees of freedom, two-sided.
    static constexpr double t_value = 2.228;

    // `samples`: equally spaced, at least 16.
    [[nodiscard]] static growth_line of(std::span<const double> samples) noexcept {
        const std::span<const double> later = samples.subspan(samples.size() / 4);
        double means[parts], sum = 0;
        for (std::size_t i = 0; i < parts; ++i) {
            const std::size_t begin = later.size() * i / parts, end = later.size() * (i + 1) / parts;
            double total = 0;
            for (std::size_t j = begin; j < end; ++j) total += later[j];
            sum += means[i] = total / static_cast<double>(end - begin);
        }
        growth_line found;
        found.mean = sum / parts;
        constexpr double middle = (parts - 1) / 2.0;
        double across = 0, spread = 0;
        for (std::size_t i = 0; i < parts; ++i) {
            const double x = static_cast<double>(i) - middle;
            across += x * (means[i] - found.mean);
            spread += x * x;
        }
        const double slope = across / spread;
        double rest = 0;
        for (std::size_t i = 0; i < parts; ++i) {
            const double off = means[i] - found.mean - slope * (static_cast<double>(i) - middle);
            rest += off * off;
        }
        const double error = std::sqrt(rest / (parts - 2) / spread);
        const double whole = found.mean > 0 ? parts / found.mean : 0;
        found.share = slope * whole;
        found.low = (slope - t_value * error) * whole;
        found.high = (slope + t_value * error) * whole;
        return found;
    }
};

}  // namespace millpond::malloc_suite
