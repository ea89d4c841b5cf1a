// SPDX-License-Identifier: BSL-1.0
// hardened_compact_test: a hardened compact_pool ends the program at a second free, and at an address that is no slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <millpond/block/new_delete.hpp>
#include <millpond/local/compact_pool.hpp>
#include <vector>

namespace millpond {
namespace {

using pool_type = compact_pool<24, new_delete>;

// Tests that run with slots in rows and with slots in a range.
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

// A source of rows at known places of a buffer: 1 KiB at its begin, then a chunk far from all others.
class placed_rows {
  public:
    [[nodiscard]] static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes == 1024) return buffer;
        if (bytes == 4096) return chunk();
        return new_delete().try_allocate(bytes, alignment);
    }
    [[gnu::noinline]] static void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes != 1024 && bytes != 4096) new_delete().deallocate(block, bytes, alignment);
    }
    [[nodiscard]] static char* chunk() noexcept { return buffer + 10240; }

  private:
    alignas(4096) inline static char buffer[32768];
};

TEST(hardened_compact_pool_in_rows, finds_addresses_behind_the_last_slot_and_the_chunk) {
    compact_pool<24, placed_rows> pool;
    void* last = nullptr;
    for (int i = 0; i < 60; ++i) last = pool.allocate(24, 8);
    ASSERT_GT(last, placed_rows::chunk());
    constexpr std::size_t slots = (4096 - 24) / 24;
    EXPECT_DEATH(pool.deallocate(placed_rows::chunk() + 24 + slots * 24, 24, 8),
                 "an address that is no slot was freed");
    EXPECT_DEATH(pool.deallocate(placed_rows::chunk() + 4096, 24, 8), "an address of no row of this pool was freed");
}

TEST(hardened_compact_pool_in_rows, finds_the_address_of_nothing_in_a_pool_without_rows) {
    compact_pool<24, placed_rows> pool;
    EXPECT_DEATH(pool.deallocate(reinterpret_cast<void*>(std::uintptr_t{16}), 24, 8), "an address of no row");
}

TEST(hardened_compact_pool_in_rows, finds_a_second_free_of_the_slots_that_come_next) {
    compact_pool<24, placed_rows> pool;
    void* const first = pool.allocate(24, 8);
    void* const second = pool.allocate(24, 8);
    pool.deallocate(first, 24, 8);
    EXPECT_DEATH(pool.deallocate(first, 24, 8), "millpond: a block was freed twice");
    pool.deallocate(second, 24, 8);
}

INSTANTIATE_TEST_SUITE_P(promotion, hardened_compact_pool, testing::Values(std::size_t{0}, detail::max_bytes));

}  // namespace
}  // namespace millpond
