// SPDX-License-Identifier: BSL-1.0
// synchronized_multipool_test: the pool in a single thread: sizes, reset and release, many pools, containers.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <millpond/bind.hpp>
#include <millpond/local.hpp>
#include <new>
#include <set>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using pool_under_test = synchronized_multipool<accounting_ref>;

static_assert(managed_allocator<synchronized_multipool<>> && managed_allocator<pool_under_test>);
static_assert(sizeof(synchronized_multipool<>) < 2048);

TEST(synchronized_multipool, an_empty_one_has_allocated_nothing) {
    accounting_source source;
    pool_under_test pool(source);
    EXPECT_EQ(source.calls(), 0u);
    EXPECT_EQ(pool.held_bytes(), 0u);
}

TEST(synchronized_multipool, the_block_freed_last_goes_out_first) {
    synchronized_multipool<> pool;
    void* const a = pool.allocate(24, 8);
    void* const b = pool.allocate(24, 8);
    EXPECT_NE(a, b);
    pool.deallocate(a, 24, 8);
    pool.deallocate(b, 24, 8);
    EXPECT_EQ(pool.allocate(24, 8), b);
    EXPECT_EQ(pool.allocate(24, 8), a);
}

TEST(synchronized_multipool, neighbours_are_neighbours_in_memory) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    synchronized_multipool<> pool;
    std::vector<char*> nodes(1000);
    for (char*& node : nodes) node = static_cast<char*>(pool.allocate(24, 8));
    int neighbours = 0;
    for (std::size_t i = 1; i < nodes.size(); ++i) neighbours += nodes[i] - nodes[i - 1] == 24;
    EXPECT_GT(neighbours, 950);
}

TEST(synchronized_multipool, serves_every_size_and_alignment) {
    accounting_source source;
    pool_under_test pool(source);
    test::block_model model;
    for (std::size_t bytes = 0; bytes < 300000; bytes = bytes * 5 / 4 + 1) {
        for (std::size_t alignment = 1; alignment <= 8192; alignment *= 2)
            model.add(pool.try_allocate(bytes, alignment), bytes, alignment);
    }
    while (!model.empty() && !HasFailure()) {
        const auto& [start, promised] = *model.live().begin();
        const auto [bytes, alignment, pattern] = promised;
        char* const block = start;
        model.remove(block);
        pool.deallocate(block, bytes, alignment);
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
    EXPECT_EQ(pool.try_allocate(static_cast<std::size_t>(-1), 8), nullptr);
    EXPECT_THROW(static_cast<void>(pool.allocate(static_cast<std::size_t>(-1), 8)), std::bad_alloc);
}

TEST(synchronized_multipool, blocks_are_as_large_as_block_bytes_says) {
    using classes = class_map<8, 16, 24, 1000>;
    synchronized_multipool<new_delete, classes> pool;
    for (const std::size_t bytes : {1u, 8u, 9u, 16u, 20u, 24u, 500u, 1000u}) {
        const std::size_t good = pool.block_bytes(bytes, 8);
        EXPECT_GE(good, bytes);
        std::vector<void*> blocks(500);
        for (void*& block : blocks) std::memset(block = pool.allocate(good, 8), 0x55, good);
        for (void* block : blocks) pool.deallocate(block, bytes, 8);
    }
    EXPECT_EQ(pool.block_bytes(1001, 8), 0u);
}

TEST(synchronized_multipool, reset_keeps_the_chunks_and_release_returns_them) {
    accounting_source source;
    pool_under_test pool(source);
    std::size_t held = 0;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 5000; ++i) std::memset(pool.allocate(100, 8), round, 100);
        static_cast<void>(pool.allocate(5000000, 8));
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
        if (round == 0) held = source.live_bytes();
        EXPECT_LE(source.live_bytes(), held + held / 10);
        pool.reset();
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
    EXPECT_EQ(pool.held_bytes(), 0u);
    EXPECT_NE(pool.allocate(100, 8), nullptr);
}

TEST(synchronized_multipool, a_managed_source_is_reset_and_released_along) {
    accounting_source source;
    synchronized_multipool<monotonic<accounting_ref>> pool(source);
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < 2000; ++i) static_cast<void>(pool.allocate(i * 50, 8));
        pool.reset();
    }
    EXPECT_GT(source.live_blocks(), 0u);
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(synchronized_multipool, release_returns_large_blocks_after_random_use) {
    accounting_source source;
    pool_under_test pool(source);
    test::block_model model;
    auto numbers = test::random_numbers();
    for (int step = 0; step < 3000 && !HasFailure(); ++step) {
        if (model.size() < 300 && (model.empty() || test::uniform(numbers, 0, 1) == 0)) {
            const auto bytes = test::uniform<std::size_t>(numbers, 1, 3000);
            model.add(pool.try_allocate(bytes, 128), bytes, 128);
        } else {
            const auto block = model.any(numbers);
            model.remove(block.start);
            pool.deallocate(block.start, block.bytes, block.alignment);
        }
        ASSERT_EQ(pool.held_bytes(), source.live_bytes());
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(synchronized_multipool, large_blocks_in_turns_need_no_more_memory) {
    accounting_source source;
    pool_under_test pool(source);
    const auto come_and_go = [&] { pool.deallocate(pool.allocate(5000000, 8), 5000000, 8); };
    come_and_go();
    const std::size_t held = source.live_bytes();
    for (int i = 0; i < 1000; ++i) come_and_go();
    EXPECT_EQ(source.live_bytes(), held);
}

// A thread's stack of a large class has room for two blocks; the stack of the small class follows it in memory.
TEST(synchronized_multipool, freed_blocks_of_a_large_class_stay_in_their_stack) {
    constexpr std::size_t large = 200000;
    accounting_source source;
    synchronized_multipool<accounting_ref, class_map<64, large>> pool(source);
    std::vector<void*> large_blocks{pool.allocate(large, 8)};
    std::set<void*> small_blocks;
    for (int i = 0; i < 20; ++i) small_blocks.insert(pool.allocate(64, 8));
    for (int i = 0; i < 20; ++i) large_blocks.push_back(pool.allocate(large, 8));
    for (void* block : small_blocks) pool.deallocate(block, 64, 8);
    for (void* block : large_blocks) pool.deallocate(block, large, 8);
    std::set<void*> again;
    for (int i = 0; i < 20; ++i) again.insert(pool.allocate(64, 8));
    EXPECT_EQ(again, small_blocks);
}

// There are more pools than a thread's table has room for, and every pool is used again after the others displaced it.
TEST(synchronized_multipool, a_thread_uses_any_number_of_pools_at_once) {
    constexpr std::size_t count = 50;
    std::vector<std::unique_ptr<synchronized_multipool<>>> pools;
    std::vector<std::vector<unsigned char*>> blocks(count);
    for (std::size_t i = 0; i < count; ++i) pools.push_back(std::make_unique<synchronized_multipool<>>());
    for (int round = 0; round < 100; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            auto* const block = static_cast<unsigned char*>(pools[i]->allocate(40, 8));
            std::memset(block, static_cast<int>(i), 40);
            blocks[i].push_back(block);
        }
    }
    std::set<void*> all;
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_LT(pools[i]->held_bytes(), 40000u) << "one magazine for each pool, found again each time";
        for (unsigned char* block : blocks[i]) {
            EXPECT_TRUE(all.insert(block).second);
            for (int byte = 0; byte < 40; ++byte) ASSERT_EQ(block[byte], i);
            pools[i]->deallocate(block, 40, 8);
        }
    }
}

// A thread's table entry of a destroyed pool must not apply to the next pool, at the same address or not.
TEST(synchronized_multipool, a_pool_at_the_address_of_another_one_starts_empty) {
    alignas(synchronized_multipool<>) char place[sizeof(synchronized_multipool<>)];
    for (int round = 0; round < 100; ++round) {
        auto* const pool = ::new (place) synchronized_multipool<>;
        EXPECT_EQ(pool->held_bytes(), 0u);
        for (int i = 0; i < 100; ++i) std::memset(pool->allocate(64, 8), 1, 64);
        pool->~synchronized_multipool();
    }
}

TEST(synchronized_multipool, containers_reach_it_by_both_bindings) {
    synchronized_multipool<> pool;
    resource<synchronized_multipool<>&> base(pool);
    std::pmr::vector<std::pmr::string> texts(&base);
    std::set<int, std::less<>, allocator<int, synchronized_multipool<>>> numbers(&pool);
    for (int i = 0; i < 1000; ++i) {
        texts.emplace_back(100u, 'x');
        numbers.insert(i);
    }
    EXPECT_EQ(texts.back(), std::pmr::string(100u, 'x'));
    EXPECT_EQ(numbers.size(), 1000u);
}

TEST(block_batch, batches_of_any_size_and_count_keep_their_order) {
    alignas(16) static char memory[128 * 1200];
    for (std::size_t bytes = detail::align_up(detail::block_batch::smallest_block_bytes, 8); bytes <= 1200;
         bytes += 8) {
        for (std::size_t count = 1; count <= 128; count = count * 5 / 4 + 1) {
            void* blocks[128];
            for (std::size_t i = 0; i < count; ++i) {
                blocks[i] = memory + (i * 77 % 128) * bytes;
                detail::mark_fresh(blocks[i], bytes);
            }
            detail::block_batch list;
            detail::block_batch::pack(blocks, count, bytes).push_to(list);
            detail::block_batch batch = list.pop();
            EXPECT_FALSE(list);
            void* again[128];
            ASSERT_EQ(batch.unpack(again, bytes), count);
            for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(again[i], blocks[i]);
        }
    }
    detail::unpoison(memory, sizeof memory);
}

}  // namespace
}  // namespace millpond
