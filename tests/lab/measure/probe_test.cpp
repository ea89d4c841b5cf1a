// SPDX-License-Identifier: BSL-1.0
// probe: its figures are positive or have a reason, and its work for measuring noise is always the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "lab/measure/abilities.hpp"
#include "lab/measure/costs.hpp"

namespace {

using namespace millpond::measure;

void expect_positive(const cost_samples& samples) {
    EXPECT_EQ(samples.size(), cost_sample_count);
    EXPECT_TRUE(std::all_of(samples.begin(), samples.end(), [](double ns) { return ns > 0; }));
}

TEST(probe, every_cost_has_positive_samples) {
    expect_positive(cycle_cost());
    expect_positive(time_stamp_cost());
    expect_positive(clock_cost());
    expect_positive(allocation_cost());
    expect_positive(page_fault_cost());
}

TEST(probe, latencies_are_of_sets_that_double) {
    const auto latencies = memory_latencies();
    ASSERT_FALSE(latencies.empty());
    EXPECT_EQ(latencies.front().set_bytes, smallest_set_bytes);
    EXPECT_EQ(latencies.back().set_bytes, largest_set_bytes);
    for (std::size_t i = 0; i < latencies.size(); ++i) {
        expect_positive(latencies[i].samples);
        if (i > 0) {
            EXPECT_EQ(latencies[i].set_bytes, 2 * latencies[i - 1].set_bytes);
        }
    }
}

TEST(probe, latencies_are_of_pages_that_double) {
    const auto latencies = page_latencies();
    ASSERT_FALSE(latencies.empty());
    EXPECT_EQ(latencies.front().pages, fewest_pages);
    EXPECT_EQ(latencies.back().pages, most_pages);
    for (const page_latency& one : latencies) expect_positive(one.samples);
}

TEST(probe, huge_pages_have_a_cost_or_a_reason) {
    const huge_page_cost found = huge_page_fault_cost();
    EXPECT_NE(found.samples.empty(), found.why_none.empty());
}

TEST(probe, an_unavailable_cost_has_a_reason) {
    const auto counters = counter_abilities();
    ASSERT_FALSE(counters.empty());
    EXPECT_EQ(counters.front().name, "instructions");
    for (const ability& found : counters) EXPECT_NE(found.available, !found.why_not.empty()) << found.name;
    const ability tracing = ptrace_ability();
    EXPECT_NE(tracing.available, !tracing.why_not.empty());
}

TEST(probe, the_same_steps_are_the_same_work) {
    EXPECT_EQ(spin(20'000), spin(20'000));
    EXPECT_NE(spin(20'000), spin(20'001));
}

}  // namespace
