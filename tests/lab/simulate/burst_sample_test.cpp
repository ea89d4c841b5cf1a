// SPDX-License-Identifier: BSL-1.0
// burst_sample: the estimate of a whole run from bursts, against sums computed by hand.
#include "lab/simulate/burst_sample.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace millpond::simulate;

constexpr const char* four_lines = "direct:line=64,size=256";

// A simulation that is fed like a program: bursts of loads, each followed by a number of skipped instructions.
class sampled_run {
  public:
    sampled_run() : kept_({}, {four_lines}), sample_({}, {four_lines}) {}

    void burst(const std::vector<std::uint64_t>& lines, std::uint64_t instructions, std::uint64_t skipped) {
        std::vector<millpond_reference> loads;
        for (const std::uint64_t line : lines) loads.push_back({line * 64, 0, 8, millpond_load, millpond_of_program});
        const reference_batch batch{loads.data(), loads.size(), instructions, false, skipped};
        kept_.take(batch);
        sample_.take(batch);
        if (skipped != 0) sample_.skip(kept_.get(), skipped);
    }
    const burst_sample& end() {
        sample_.end(kept_.get());
        return sample_;
    }

  private:
    running_simulation kept_;
    burst_sample sample_;
};

TEST(burst_sample, scales_misses_by_instructions_with_their_error) {
    sampled_run run;
    run.burst({0, 1, 2, 3}, 10, 90);  // four misses
    run.burst({0, 1, 2, 7}, 10, 90);  // one, with caches that were kept; four with emptied ones
    run.burst({7, 7, 7, 7}, 20, 80);  // none; one
    const burst_sample& sample = run.end();
    EXPECT_EQ(sample.bursts(), 3u);
    EXPECT_EQ(sample.instructions_not_captured(), 260u);
    const auto found = sample.whole(0, 0);
    ASSERT_TRUE(found.has_value());
    EXPECT_DOUBLE_EQ(found->value, 5.0 / 40 * 300);
    EXPECT_DOUBLE_EQ(found->with_empty_caches, 9.0 / 40 * 300);
    // Differences from 1/8 a miss an instruction: 2.75, -0.25, -2.5.
    const double squares = 2.75 * 2.75 + 0.25 * 0.25 + 2.5 * 2.5;
    const double error = 1.96 * std::sqrt((1 - 40.0 / 300) * 1.5 * squares) / 40 * 300;
    EXPECT_NEAR(found->high - found->value, error, 1e-9);
    EXPECT_DOUBLE_EQ(found->low, std::max(0.0, found->value - error));
}

TEST(burst_sample, equal_bursts_have_no_error) {
    sampled_run run;
    for (std::uint64_t i = 0; i < 50; ++i) run.burst({4 * i, 4 * i + 1}, 10, 30);
    const auto found = run.end().whole(0, 0);
    ASSERT_TRUE(found.has_value());
    EXPECT_DOUBLE_EQ(found->value, 400);
    EXPECT_DOUBLE_EQ(found->low, 400);
    EXPECT_DOUBLE_EQ(found->high, 400);
}

TEST(burst_sample, gaps_that_follow_one_another_are_one) {
    sampled_run run;
    run.burst({}, 0, 500);  // in front of the first burst
    run.burst({1}, 10, 20);
    run.burst({}, 0, 20);
    run.burst({2}, 10, 0);
    const burst_sample& sample = run.end();
    EXPECT_EQ(sample.bursts(), 2u);
    EXPECT_EQ(sample.instructions_not_captured(), 540u);
}

TEST(burst_sample, one_burst_tells_nothing_of_the_rest) {
    sampled_run run;
    run.burst({}, 0, 500);
    run.burst({1, 2}, 10, 0);
    EXPECT_FALSE(run.end().whole(0, 0).has_value());
}

}  // namespace
