// SPDX-License-Identifier: BSL-1.0
// limited_test: the live bytes never exceed the limit, for any request and any action of the callback.
#include <gtest/gtest.h>

#include <map>
#include <millpond/millpond.hpp>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::uniform;

static_assert(rewindable_allocator<limited<monotonic<>>> && managed_allocator<limited<multipool<>>>);
static_assert(!rewindable_allocator<limited<multipool<>>> && !managed_allocator<limited<new_delete>>);
static_assert(slab_source<limited<test::accounting_slab_ref>> &&
              fixed_chunk_source<limited<test::accounting_slab_ref>>);
static_assert(!std::default_initializable<limited<multipool<>>>, "a limit has no sensible default");

TEST(limited, the_limit_is_reached_to_the_byte_and_never_passed) {
    limited<multipool<>> pool(byte_limit{1000});
    test::block_model model;
    auto numbers = test::random_numbers();
    std::size_t live = 0;
    for (int step = 0; step < 20000 && !testing::Test::HasFailure(); ++step) {
        if (model.empty() || uniform(numbers, 0, 99) < 55) {
            const auto bytes = uniform<std::size_t>(numbers, 0, step % 10 == 0 ? 1001 : 100);
            const std::size_t counts_as = bytes == 0 ? 1 : bytes;
            void* const block = pool.try_allocate(bytes, 8);
            ASSERT_EQ(block != nullptr, live + counts_as <= 1000) << "live " << live << ", asked for " << bytes;
            if (block == nullptr) continue;
            model.add(block, bytes, 8);
            live += counts_as;
        } else if (uniform(numbers, 0, 500) == 0) {
            uniform(numbers, 0, 1) == 0 ? pool.reset() : pool.release();
            model.clear();
            live = 0;
        } else {
            const auto block = model.any(numbers);
            model.remove(block.start);
            pool.deallocate(block.start, block.bytes, block.alignment);
            live -= block.bytes == 0 ? 1 : block.bytes;
        }
        ASSERT_EQ(pool.live_bytes(), live);
    }
    EXPECT_THROW(static_cast<void>(pool.allocate(1001, 8)), std::bad_alloc);
    EXPECT_EQ(pool.try_allocate(static_cast<std::size_t>(-1), 8), nullptr);
}

TEST(limited, the_callback_may_free_blocks_of_this_allocator) {
    struct cache {
        limited<multipool<>> pool{byte_limit{1000}};
        std::vector<void*> blocks;
        int calls = 0;
    } cache;
    cache.pool.on_limit(
        [](void* context, std::size_t bytes, std::size_t alignment) {
            auto& self = *static_cast<struct cache*>(context);
            EXPECT_EQ(bytes, 100u);
            EXPECT_EQ(alignment, 8u);
            ++self.calls;
            if (self.blocks.empty()) return false;
            self.pool.deallocate(self.blocks.back(), 50, 8);
            self.blocks.pop_back();
            return true;
        },
        &cache);
    for (int i = 0; i < 20; ++i) cache.blocks.push_back(cache.pool.allocate(50, 8));
    EXPECT_EQ(cache.calls, 0);
    for (int i = 0; i < 10; ++i) EXPECT_NE(cache.pool.try_allocate(100, 8), nullptr);
    EXPECT_EQ(cache.calls, 20) << "two blocks of 50 for each of 100";
    EXPECT_TRUE(cache.blocks.empty());
    EXPECT_EQ(cache.pool.try_allocate(100, 8), nullptr);
    EXPECT_EQ(cache.calls, 21);
}

TEST(limited, a_callback_that_frees_nothing_is_not_called_endlessly) {
    limited<multipool<>> pool(byte_limit{100});
    int calls = 0;
    pool.on_limit([](void* context, std::size_t, std::size_t) { return ++*static_cast<int*>(context) > 0; }, &calls);
    EXPECT_EQ(pool.try_allocate(200, 8), nullptr);
    EXPECT_EQ(calls, 1);
    pool.on_limit(nullptr, nullptr);
    EXPECT_EQ(pool.try_allocate(200, 8), nullptr);
    EXPECT_EQ(calls, 1);
}

TEST(limited, a_callback_may_raise_the_limit_and_lowering_frees_nothing) {
    limited<multipool<>> pool(byte_limit{100});
    pool.on_limit(
        [](void* context, std::size_t, std::size_t) {
            auto& self = *static_cast<limited<multipool<>>*>(context);
            self.set_limit_bytes(self.limit_bytes() + 60);
            return true;
        },
        &pool);
    void* const block = pool.allocate(300, 8);
    EXPECT_EQ(pool.limit_bytes(), 340u);
    pool.on_limit(nullptr, nullptr);
    pool.set_limit_bytes(50);
    EXPECT_EQ(pool.live_bytes(), 300u);
    EXPECT_EQ(pool.try_allocate(1, 8), nullptr);
    pool.deallocate(block, 300, 8);
    pool.deallocate(pool.allocate(50, 8), 50, 8);
}

TEST(limited, bounds_a_pools_memory_as_a_source) {
    multipool<limited<new_delete>> pool(byte_limit{50000});
    std::vector<void*> blocks;
    while (void* block = pool.try_allocate(100, 8)) blocks.push_back(block);
    EXPECT_LE(pool.held_bytes(), 50000u);
    EXPECT_GT(blocks.size(), 300u);
    EXPECT_EQ(pool.source().live_bytes(), pool.held_bytes());
    for (void* block : blocks) pool.deallocate(block, 100, 8);
    EXPECT_NE(pool.try_allocate(100, 8), nullptr) << "freed blocks serve on";
    pool.release();
    EXPECT_EQ(pool.source().live_bytes(), 0u);
}

TEST(limited, slabs_are_limited_as_well) {
    test::accounting_slab_source source;
    multipool<limited<test::accounting_slab_ref>, four_an_octave<4096>> pool(byte_limit{3 * 65536}, source);
    int blocks = 0;
    for (const std::size_t bytes : {8u, 16u, 24u, 32u}) blocks += pool.try_allocate(bytes, 8) != nullptr;
    EXPECT_EQ(blocks, 3);
    EXPECT_EQ(source.live_blocks(), 3u);
}

TEST(limited, a_rewind_makes_room_again) {
    limited<monotonic<>> row(byte_limit{100});
    void* const older = row.allocate(40, 8);
    const auto place = row.checkpoint();
    for (int i = 0; i < 10; ++i) {
        EXPECT_NE(row.try_allocate(60, 8), nullptr);
        EXPECT_EQ(row.try_allocate(1, 8), nullptr);
        row.rewind(place);
    }
    row.deallocate(older, 40, 8);
    row.rewind(place);
    EXPECT_EQ(row.live_bytes(), 0u);
}

TEST(limited, requests_refused_beneath_do_not_count) {
    accounting_source source;
    limited<multipool<accounting_ref>> pool(byte_limit{100000}, source);
    source.fail_from(0);
    EXPECT_EQ(pool.try_allocate(50000, 8), nullptr);
    EXPECT_EQ(pool.live_bytes(), 0u);
    source.never_fail();
    EXPECT_NE(pool.try_allocate(100000, 8), nullptr);
    EXPECT_EQ(pool.held_bytes(), source.live_bytes());
}

}  // namespace
}  // namespace millpond
