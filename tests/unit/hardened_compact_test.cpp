// SPDX-License-Identifier: BSL-1.0
// hardened_compact_test: a hardened compact_pool ends the program at a second free, and at an address that is no slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <millpond/block/new_delete.hpp>
#include <millpond/local/compact_pool.hpp>
#include <vector>

namespace millpond {
namespace {

using pool_type = compact_pool<24, new_delete>;

// In rows, and in a range.
class hardened_compact_pool : public testing::TestWithParam<std::size_t> {
  protected:
    pool_type pool{promote_above{GetParam()}};
    std::vector<char*> fill(std::size_t count) {
        std::vector<char*> slots(count);
        for (char*& slot : slots) slot = static_cast<char*>(pool.allocate(24, 8));
        return slots;
    }
};

TEST_P(hardened_compact_pool, finds_a_second_free_wherever_the_slot_is) {
    const auto slots = fill(1000);
    for (const std::size_t i : {std::size_t{0}, std::size_t{500}, std::size_t{999}}) {
        pool.deallocate(slots[i], 24, 8);
        EXPECT_DEATH(pool.deallocate(slots[i], 24, 8), "millpond: a block was freed twice");
    }
    static_cast<void>(fill(3));
    EXPECT_EQ(pool.stats().live_slots, 1000U);
}

TEST_P(hardened_compact_pool, finds_an_address_that_is_no_slot) {
    const auto slots = fill(1000);
    for (const std::size_t i : {std::size_t{1}, std::size_t{999}})
        EXPECT_DEATH(pool.deallocate(slots[i] + 8, 24, 8), "millpond: an address that is no slot was freed");
    int elsewhere = 0;
    EXPECT_DEATH(pool.deallocate(&elsewhere, 24, 8), "millpond: an address of no row of this pool was freed");
}

TEST_P(hardened_compact_pool, works_as_the_others_do) {
    auto slots = fill(5000);
    std::sort(slots.begin(), slots.end());
    for (std::size_t i = 0; i < slots.size(); i += 2) pool.deallocate(slots[i], 24, 8);
    // A row or chunk that lies lower may have had free slots left over: those come first.
    std::vector<char*> again(slots.size() / 2);
    for (char*& slot : again) slot = static_cast<char*>(pool.allocate(24, 8));
    EXPECT_TRUE(std::is_sorted(again.begin(), again.end()));
    EXPECT_LE(again[0], slots[0]);
    for (std::size_t i = 1; i < slots.size(); i += 2)
        EXPECT_FALSE(std::binary_search(again.begin(), again.end(), slots[i]));
}

INSTANTIATE_TEST_SUITE_P(promotion, hardened_compact_pool, testing::Values(std::size_t{0}, max_bytes));

}  // namespace
}  // namespace millpond
