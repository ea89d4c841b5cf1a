// SPDX-License-Identifier: BSL-1.0
// The malloc layer over a classic heap, called directly, so that sanitizers can check it.
#include "preload/locked_malloc.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "lab/mallocs/classic_heaps.hpp"

namespace {

using millpond::preload::heap_region;
using tried = millpond::preload::locked_malloc<millpond::mallocs::heaps::quick_fit>;

constexpr tried::call_site nowhere{};

bool is_filled(const void* block, std::size_t bytes, unsigned char with) {
    const auto* const first = static_cast<const unsigned char*>(block);
    for (std::size_t i = 0; i < bytes; ++i)
        if (first[i] != with) return false;
    return true;
}

TEST(locked_malloc, tells_its_blocks_from_others) {
    int local = 0;
    void* const block = tried::allocate(100, nowhere);
    void* const foreign = millpond::preload::real::allocate(100);
    EXPECT_TRUE(heap_region::contains(block));
    EXPECT_FALSE(heap_region::contains(foreign));
    EXPECT_FALSE(heap_region::contains(&local));
    EXPECT_FALSE(heap_region::contains(nullptr));
    tried::deallocate(foreign);
    tried::deallocate(block);
}

TEST(locked_malloc, leaves_foreign_blocks_to_their_provider) {
    void* foreign = millpond::preload::real::allocate(100);
    EXPECT_GE(tried::usable_size(foreign), 100U);
    std::memset(foreign, 3, 100);
    foreign = tried::reallocate(foreign, 200'000, nowhere);
    EXPECT_FALSE(heap_region::contains(foreign));
    EXPECT_TRUE(is_filled(foreign, 100, 3));
    tried::deallocate(foreign);
}

TEST(locked_malloc, clears_dirty_blocks_of_any_size) {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{40}, std::size_t{5000}, std::size_t{300'001}, std::size_t{2'000'000}}) {
        for (int round = 0; round < 3; ++round) {
            void* const block = tried::allocate_zeroed(bytes, nowhere);
            ASSERT_NE(block, nullptr);
            EXPECT_TRUE(is_filled(block, bytes, 0)) << bytes;
            std::memset(block, 0xa5, tried::usable_size(block));
            tried::deallocate(block);
        }
    }
}

TEST(locked_malloc, moves_blocks_only_where_it_pays) {
    void* block = tried::allocate(1000, nowhere);
    std::memset(block, 7, 1000);
    EXPECT_EQ(tried::reallocate(block, 900, nowhere), block);
    void* const small = tried::reallocate(block, 100, nowhere);
    EXPECT_NE(small, block);
    EXPECT_TRUE(is_filled(small, 100, 7));
    void* const large = tried::reallocate(small, 100'000, nowhere);
    EXPECT_TRUE(is_filled(large, 100, 7));
    tried::deallocate(large);
}

TEST(locked_malloc, counts_blocks_that_are_out) {
    const std::size_t before = tried::record().use.blocks;
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < 100; ++i) blocks.push_back(tried::allocate(i * 10, nowhere));
    const millpond::classic::heap_use full = tried::record().use;
    EXPECT_EQ(full.blocks, before + 100);
    EXPECT_LE(full.block_bytes + full.free_bytes, full.used_bytes);
    EXPECT_LE(full.used_bytes, full.held_bytes);
    for (void* each : blocks) tried::deallocate(each);
    EXPECT_EQ(tried::record().use.blocks, before);
}

TEST(locked_malloc, serves_threads_that_free_what_others_allocated) {
    constexpr std::size_t count = 4, each_has = 500;
    std::vector<std::vector<void*>> blocks(count);
    for (int round = 0; round < 5; ++round) {
        std::vector<std::thread> threads;
        for (std::size_t me = 0; me < count; ++me) {
            threads.emplace_back([&, me] {
                for (std::size_t i = 0; i < each_has; ++i) {
                    const std::size_t bytes = 1 + (me * 131 + i * 17) % 400;
                    blocks[me].push_back(tried::allocate(bytes, nowhere));
                    std::memset(blocks[me].back(), static_cast<int>(me), bytes);
                }
            });
        }
        for (std::thread& each : threads) each.join();
        threads.clear();
        for (std::size_t me = 0; me < count; ++me) {
            threads.emplace_back([&, me] {
                const std::size_t other = (me + 1) % count;
                for (std::size_t i = 0; i < each_has; ++i) {
                    EXPECT_TRUE(is_filled(blocks[other][i], 1 + (other * 131 + i * 17) % 400,
                                          static_cast<unsigned char>(other)));
                    tried::deallocate(blocks[other][i]);
                }
            });
        }
        for (std::thread& each : threads) each.join();
        for (auto& each : blocks) each.clear();
    }
}

}  // namespace
