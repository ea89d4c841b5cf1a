// SPDX-License-Identifier: BSL-1.0
// growth_line: finds the slope of a generated series, and an interval as wide as its noise.
#include "lab/suites/malloc/growth_line.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

using millpond::malloc_suite::growth_line;

std::vector<double> series(std::size_t count, double start, double step, double noise, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> off(0.0, noise);
    std::vector<double> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(start + step * static_cast<double>(i) + off(random));
    return made;
}

TEST(growth_line, is_exact_for_a_straight_line) {
    const growth_line found = growth_line::of(series(256, 1000, 1, 0, 1));
    EXPECT_NEAR(found.share, 192.0 / found.mean, 1e-9);
    EXPECT_NEAR(found.high - found.low, 0, 1e-9);
}

TEST(growth_line, leaves_the_first_quarter_out) {
    std::vector<double> made = series(256, 1000, 0, 0, 1);
    for (std::size_t i = 0; i < 64; ++i) made[i] = static_cast<double>(i);
    EXPECT_NEAR(growth_line::of(made).share, 0, 1e-12);
}

TEST(growth_line, has_the_true_growth_in_19_of_20_intervals) {
    unsigned inside = 0;
    for (unsigned seed = 1; seed <= 1000; ++seed) {
        const growth_line found = growth_line::of(series(256, 1000, 0.5, 30, seed));
        const double grown = 96.0 / (1000 + 0.5 * 160);
        inside += found.low <= grown && grown <= found.high;
    }
    EXPECT_NEAR(inside, 950, 28);  // four standard deviations
}

TEST(growth_line, takes_any_number_of_samples_from_16_on) {
    for (std::size_t count = 16; count < 100; ++count)
        EXPECT_NEAR(growth_line::of(series(count, 100, 0, 0, 1)).share, 0, 1e-12) << count;
}

}  // namespace
