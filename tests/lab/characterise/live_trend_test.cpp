// SPDX-License-Identifier: BSL-1.0
// The growth of live bytes of simulated programs, whole and sampled, against the growth that they were given.
#include "lab/characterise/live_trend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <vector>

#include "lab/record/byte_countdown.hpp"
#include "small_program.hpp"

namespace millpond::test {
namespace {

using characterise::live_trend;
using characterise::trend_estimate;
using trace::event;

constexpr std::uint64_t interval = 64 << 10, begin = 1'000'000, end = 2'000'000;
constexpr unsigned seeds = 40;

// A program that runs since long before the trace. Its blocks have 100 to 4000 bytes.
class simulated_program {
  public:
    explicit simulated_program(std::uint64_t seed) : random_(seed) {}

    // Blocks that live for some time, `live_bytes` of them at any moment.
    void churn(double live_bytes) {
        constexpr double mean_life = 50'000;
        std::exponential_distribution<double> life(1 / mean_life);
        for (double t = begin - 8 * mean_life; t < end; t += mean_life * mean_bytes / live_bytes)
            put(t, t + life(random_));
    }
    // Blocks that stay.
    void leak(double bytes_in_all) {
        const double step = (end - begin) * mean_bytes / bytes_in_all;
        for (double t = begin + step * share(random_); t < end; t += step) put(t, 2.0 * end);
    }
    // Blocks that collect, and are all freed at once, again and again.
    void saw(double peak_bytes) {
        const double tooth = (end - begin) / (6 + 24 * share(random_));
        for (double t = begin - tooth * share(random_); t < end; t += tooth)
            for (double at = t; at < t + tooth; at += tooth * mean_bytes / peak_bytes) put(at, t + tooth);
    }

    std::vector<event> events(std::uint32_t context) const {
        std::vector<event> all;
        std::uint64_t address = 4096;
        for (const block& b : blocks_) {
            all.push_back(allocation(b.begin, 1, address += 8192, b.bytes, context));
            if (b.end < end) all.push_back(deallocation(b.end, 1, address));
        }
        std::stable_sort(all.begin(), all.end(),
                         [](const event& a, const event& b) { return a.time_ticks < b.time_ticks; });
        return all;
    }

  private:
    struct block {
        std::uint64_t begin, end, bytes;
    };
    static constexpr double mean_bytes = 2050;

    void put(double from, double to) {
        if (from >= end) return;
        blocks_.push_back({static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(std::max(to, from + 1)),
                           100 + random_() % 3901});
    }

    std::mt19937_64 random_;
    std::uniform_real_distribution<double> share;
    std::vector<block> blocks_;
};

std::vector<event> sampled(const std::vector<event>& all, std::uint64_t seed) {
    record::byte_countdown countdown;
    countdown.begin(seed, interval);
    std::vector<event> chosen;
    std::vector<bool> followed(all.size() + 2);
    for (const event& e : all) {
        const std::size_t block = (e.address - 4096) / 8192;
        if (e.op == trace::operation::free ? followed[block]
                                           : !countdown.passes(e.bytes) && countdown.chooses(e.bytes, interval)) {
            followed[block] = true;
            chosen.push_back(e);
        }
    }
    return chosen;
}

struct growth_case {
    const char* name;
    double growth, churn, saw;
};

class live_trends : public ::testing::TestWithParam<growth_case> {};

TEST_P(live_trends, intervals_hold_the_growth_in_95_percent) {
    const growth_case& of = GetParam();
    small_program program;
    const std::uint32_t context = program.frame(program.frame(0, "main"), "cache::make");
    const symbols::context_functions functions = program.functions();
    const symbols::subsystem_map map(functions, {});
    unsigned whole_held = 0, sampled_held = 0;
    double width = 0;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        simulated_program simulated(seed);
        simulated.churn(of.churn);
        if (of.growth > 0) simulated.leak(of.growth);
        if (of.saw > 0) simulated.saw(of.saw);
        const std::vector<event> all = simulated.events(context);
        for (const bool is_sampled : {false, true}) {
            const std::vector<event> seen = is_sampled ? sampled(all, seed) : all;
            live_trend trend(map, begin, end, is_sampled ? interval : 0);
            trend.consume(seen.data(), seen.size());
            trend.finish();
            const trend_estimate found = trend.subsystem(map.subsystem_of(context));
            (is_sampled ? sampled_held : whole_held) += found.low <= of.growth && of.growth <= found.high;
            if (is_sampled) width += (found.high - found.low) / 2 / seeds;
        }
    }
    std::cout << of.name << ", seeds 1 to " << seeds << ": whole " << whole_held << ", sampled " << sampled_held
              << ", half the interval " << width << " bytes on average\n";
    EXPECT_GE(whole_held, 0.95 * seeds);
    EXPECT_GE(sampled_held, 0.95 * seeds);
    EXPECT_LT(width, 5e6);  // an interval that holds everything tells nothing
}

INSTANTIATE_TEST_SUITE_P(programs, live_trends,
                         ::testing::Values(growth_case{"linear", 15e6, 4e6, 0}, growth_case{"none", 0, 8e6, 0},
                                           growth_case{"saw", 15e6, 1e6, 5e6}, growth_case{"flat_saw", 0, 1e6, 5e6},
                                           growth_case{"leak_only", 15e6, 1e4, 0}),
                         [](const auto& one) { return one.param.name; });

// The slope of a line through live bytes at all times, known for one block.
TEST(live_trend, slope_of_one_block_is_that_of_the_line) {
    small_program program;
    const std::uint32_t context = program.frame(program.frame(0, "main"), "cache::make");
    const symbols::context_functions functions = program.functions();
    const symbols::subsystem_map map(functions, {});
    const std::vector<event> one = {allocation(500, 1, 4096, 1000, context), allocation(1000, 1, 8192, 70, context)};
    live_trend trend(map, 0, 1000, 0);
    trend.consume(one.data(), one.size());
    trend.finish();
    EXPECT_NEAR(trend.whole().slope, 1500, 1e-6);  // 12 ∫ (u − 1/2) · 1000 du from 1/2 to 1
    EXPECT_GT(trend.whole().high, 1500);
}

TEST(live_trend, blocks_that_live_throughout_are_no_growth) {
    small_program program;
    const std::uint32_t context = program.frame(program.frame(0, "main"), "cache::make");
    const symbols::context_functions functions = program.functions();
    const symbols::subsystem_map map(functions, {});
    const std::vector<event> one = {allocation(5, 1, 4096, 1000, context)};
    live_trend trend(map, 10, 1000, interval);
    trend.consume(one.data(), one.size());
    trend.finish();
    EXPECT_EQ(trend.whole().slope, 0);
    EXPECT_LT(trend.whole().low, 0);
    EXPECT_GT(trend.whole().high, 0);
}

}  // namespace
}  // namespace millpond::test
