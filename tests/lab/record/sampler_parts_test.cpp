// SPDX-License-Identifier: BSL-1.0
// The parts of a sampled recording, each by itself: the choice of bytes, and the table of followed blocks.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <vector>

#include "lab/record/byte_countdown.hpp"
#include "lab/record/followed_blocks.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using record::byte_countdown;
using record::followed_blocks;

TEST(byte_countdown, segments_change_no_choice) {
    std::mt19937_64 random(seed());
    for (const std::uint64_t interval : {std::uint64_t{1000}, std::uint64_t{1} << 20, std::uint64_t{20} << 20}) {
        byte_countdown asked_when_needed, asked_always;
        const std::uint64_t of_choice = random();
        asked_when_needed.begin(of_choice, interval);
        asked_always.begin(of_choice, interval);
        unsigned chosen = 0;
        for (unsigned i = 0; i < 20'000; ++i) {
            const std::size_t bytes = random() % (random() % 4 == 0 ? 3u << 20 : 5000);
            const bool here = !asked_when_needed.passes(bytes) && asked_when_needed.chooses(bytes, interval);
            ASSERT_EQ(here, asked_always.chooses(bytes, interval)) << interval << ", allocation " << i;
            chosen += here;
        }
        EXPECT_GT(chosen, 0u);
    }
}

TEST(byte_countdown, asks_after_each_segment) {
    byte_countdown countdown;
    countdown.begin(1, std::uint64_t{1} << 60);
    std::size_t passed = 0;
    for (; countdown.passes(1000); passed += 1000) ASSERT_LE(passed, byte_countdown::segment_bytes);
    EXPECT_FALSE(countdown.chooses(1000, std::uint64_t{1} << 60));
    EXPECT_TRUE(countdown.passes(1000));
}

TEST(followed_blocks, follow_what_the_model_follows) {
    std::mt19937_64 random(seed());
    const auto found = std::make_unique<followed_blocks>();
    const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
    std::set<std::uintptr_t> model;
    for (unsigned i = 0; i < 200'000; ++i) {
        const std::uintptr_t address = 16 * (1 + random() % (i < 100'000 ? 1u << 14 : 1u << 18));
        if (model.erase(address) != 0) {
            ASSERT_TRUE(found->may_have(at(address)));
            ASSERT_TRUE(found->remove(at(address)));
        } else if (random() % 8 == 0) {
            ASSERT_FALSE(found->remove(at(address)));
        } else {
            ASSERT_TRUE(found->insert(at(address), true));
            model.insert(address);
        }
        if (i % 60'000 != 59'999) continue;
        found->clear();
        for (const std::uintptr_t each : model) ASSERT_FALSE(found->remove(at(each)));
        model.clear();
    }
    for (const std::uintptr_t each : model) ASSERT_TRUE(found->remove(at(each)));
}

TEST(followed_blocks, full_sets_are_told_where_nothing_may_be_mapped) {
    const auto found = std::make_unique<followed_blocks>();
    std::uintptr_t address = 16;
    while (found->insert(reinterpret_cast<const void*>(address), false)) address += 16;
    EXPECT_FALSE(found->remove(reinterpret_cast<const void*>(address)));
    EXPECT_TRUE(found->insert(reinterpret_cast<const void*>(address), true));
    EXPECT_TRUE(found->remove(reinterpret_cast<const void*>(address)));
}

}  // namespace
}  // namespace millpond::test
