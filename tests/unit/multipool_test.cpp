// SPDX-License-Identifier: BSL-1.0
// multipool_test: every request in every scheme, reuse, chunks, slabs, large blocks, reset and release.
#include <gtest/gtest.h>

#include <cstring>
#include <millpond/block.hpp>
#include <millpond/local.hpp>
#include <set>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/highest_bit.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_slab_ref;
using test::accounting_slab_source;
using test::accounting_source;
using pool_under_test = multipool<accounting_ref>;

static_assert(managed_allocator<multipool<>> && managed_allocator<multipool<monotonic<>>>);
static_assert(!std::is_copy_constructible_v<multipool<>> && !std::is_move_constructible_v<multipool<>>);
static_assert(multipool<>::block_bytes(24, 8) == 24 && multipool<>::block_bytes(24, 16) == 32);
static_assert(multipool<>::block_bytes(0, 1) == 8 && multipool<>::block_bytes(40000, 8) == 40960);
static_assert(multipool<>::block_bytes(1 << 20, 8) == 1 << 20 && multipool<>::block_bytes((1 << 20) + 1, 8) == 0);

template <class Pool>
class multipool_schemes : public testing::Test {};

using pools =
    testing::Types<multipool<accounting_ref>, multipool<accounting_ref, powers_of_two<>>,
                   multipool<accounting_ref, exact_spacing<>>, multipool<accounting_ref, exact_spacing<8, 4096>>,
                   multipool<accounting_ref, class_map<24, 40, 64, 104, 1000>>, multipool<test::accounting_ref_at_hand>,
                   multipool<test::accounting_ref_at_hand, powers_of_two<>>>;
TYPED_TEST_SUITE(multipool_schemes, pools);

TYPED_TEST(multipool_schemes, every_small_request_is_aligned_disjoint_and_kept) {
    accounting_source source;
    TypeParam pool(source);
    for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
        test::block_model model;
        for (std::size_t bytes = 0; bytes <= 4096; bytes += test::scaled<std::size_t>(1, 3)) {
            void* const block = pool.try_allocate(bytes, alignment);
            model.add(block, bytes, alignment);
            if (testing::Test::HasFatalFailure()) return;
            ASSERT_TRUE(TypeParam::block_bytes(bytes, alignment) == 0 ||
                        TypeParam::block_bytes(bytes, alignment) >= bytes);
        }
        model.check_all();
        for (const auto& [block, promised] : model.live()) pool.deallocate(block, promised.bytes, promised.alignment);
    }
}

TYPED_TEST(multipool_schemes, a_freed_block_is_used_again_before_the_source_is_asked) {
    accounting_source source;
    TypeParam pool(source);
    for (std::size_t bytes = 1; bytes <= 1000; bytes += 13) {
        // Use up what is fresh: then the block freed last is the next.
        const std::size_t row = std::size_t{64} << 10;
        std::set<void*> blocks;
        for (std::size_t used = 0; used < row; used += bytes) blocks.insert(pool.allocate(bytes, 8));
        const std::size_t calls = source.calls();
        for (void* block : blocks) pool.deallocate(block, bytes, 8);
        for (std::size_t i = 0; i < blocks.size(); ++i) static_cast<void>(pool.allocate(bytes, 8));
        EXPECT_EQ(source.calls(), calls) << bytes;
    }
}

TYPED_TEST(multipool_schemes, deallocate_block_takes_what_block_bytes_gave) {
    accounting_source source;
    TypeParam pool(source);
    for (std::size_t bytes = 1; bytes <= 1000; ++bytes) {
        const std::size_t block_bytes = TypeParam::block_bytes(bytes, 8);
        std::vector<void*> row(200);
        for (void*& block : row) block = pool.allocate(bytes, 8);
        const std::size_t calls = source.calls();
        for (void* block : row) pool.deallocate_block(block, block_bytes);
        for (int i = 0; i < 200; ++i) static_cast<void>(pool.allocate(bytes, 8));
        ASSERT_EQ(source.calls(), calls);
        pool.reset();
    }
}

// A block at hand is the one that the long way would have given; if no block is at hand, nothing changes.
TYPED_TEST(multipool_schemes, blocks_at_hand_are_those_of_the_long_way) {
    auto numbers = test::random_numbers(1);
    accounting_source source;
    TypeParam pool(source);
    test::block_model model;
    std::vector<test::block_model::block> live;
    std::size_t at_hand = 0, put = 0;
    for (int step = 0; step < test::scaled(40000, 8000); ++step) {
        if (live.empty() || numbers() % 5 < 3) {
            const std::size_t bytes = 1 + numbers() % 3000, alignment = numbers() % 2 == 0 ? 8 : 16;
            const std::size_t calls = source.calls();
            void* block = pool.take_at_hand(bytes, alignment);
            ASSERT_EQ(source.calls(), calls);
            at_hand += block != nullptr;
            if (block == nullptr) block = pool.try_allocate(bytes, alignment);
            ASSERT_NO_FATAL_FAILURE(model.add(block, bytes, alignment));
            live.push_back({block, bytes, alignment});
        } else {
            std::swap(live[numbers() % live.size()], live.back());
            const auto [block, bytes, alignment] = live.back();
            live.pop_back();
            ASSERT_NO_FATAL_FAILURE(model.remove(block));
            const std::size_t block_bytes = TypeParam::block_bytes(bytes, alignment);
            if (block_bytes == 0 || numbers() % 2 == 0) {
                pool.deallocate(block, bytes, alignment);
                continue;
            }
            const bool is_free = pool.put_at_hand(block, block_bytes);
            put += is_free;
            if (!is_free) pool.deallocate_block(block, block_bytes);
        }
    }
    EXPECT_GT(at_hand, 100u);
    EXPECT_GT(put, 100u);
}

TEST(multipool, an_unused_one_has_asked_for_nothing_and_may_be_reset) {
    accounting_source source;
    pool_under_test pool(source);
    pool.reset();
    pool.release();
    EXPECT_EQ(source.calls(), 0u);
    EXPECT_EQ(pool.held_bytes(), 0u);
}

// The distance from one block of 24 or 16 bytes to the next; there is a gap only under an address sanitizer.
constexpr std::size_t next_of_24 = 24 + detail::gap_in_row(24);
constexpr std::size_t next_of_16 = 16 + detail::gap_in_row(16);

TEST(multipool, blocks_of_one_size_lie_in_a_row_without_headers) {
    multipool<> pool;
    auto* last = static_cast<char*>(pool.allocate(24, 8));
    int gaps = 0;
    for (int i = 0; i < 10000; ++i) {
        auto* const block = static_cast<char*>(pool.allocate(24, 8));
        gaps += block != last + next_of_24;
        last = block;
    }
    EXPECT_LT(gaps, 30);
}

TEST(multipool, a_freed_block_comes_first_then_fresh_ones_in_order) {
    multipool<> pool;
    auto* const a = static_cast<char*>(pool.allocate(24, 8));
    auto* const b = static_cast<char*>(pool.allocate(24, 8));
    EXPECT_EQ(b, a + next_of_24);
    for (char* block : {a, b, a}) {
        pool.deallocate(block, 24, 8);
        EXPECT_EQ(pool.allocate(24, 8), block);
    }
    auto* const c = static_cast<char*>(pool.allocate(24, 8));
    EXPECT_EQ(pool.allocate(24, 8), c + next_of_24);
}

// A queue frees in this way: neighbours in its order stay neighbours in memory.
TEST(multipool, freed_blocks_are_reused_in_order_within_the_last_32_kib) {
    accounting_source source;
    pool_under_test pool(source);
    std::vector<void*> blocks(2000);
    for (void*& block : blocks) block = pool.allocate(24, 8);
    source.fail_from(0);
    while (pool.try_allocate(24, 8) != nullptr) {  // what is fresh
    }
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < 40; ++i) pool.deallocate(blocks[i], 24, 8);
        for (std::size_t i = 0; i < 40; ++i) ASSERT_EQ(pool.allocate(24, 8), blocks[i]) << round;
    }
    // After frees of more than 32 KiB the first block is reused first, and after it the last 32 KiB in their order.
    for (void* block : blocks) pool.deallocate(block, 24, 8);
    const std::size_t turned = (32768 + 23) / 24;
    EXPECT_EQ(pool.allocate(24, 8), blocks[0]);
    for (std::size_t i = 2000 - turned; i < 2000; ++i) ASSERT_EQ(pool.allocate(24, 8), blocks[i]);
    for (std::size_t i = 1; i < 2000 - turned; ++i) ASSERT_EQ(pool.allocate(24, 8), blocks[i]);
}

TEST(multipool, a_tiny_container_costs_two_small_chunks) {
    accounting_source source;
    pool_under_test pool(source);
    for (std::size_t bytes = 8; bytes <= 256; bytes *= 2) static_cast<void>(pool.allocate(bytes, 8));
    EXPECT_LE(source.calls(), 2u);
    EXPECT_LE(source.live_bytes(), 3072u);
}

TEST(multipool, a_list_of_sixteen_nodes_costs_one_kibibyte) {
    accounting_source source;
    pool_under_test pool(source);
    for (int i = 0; i < 16; ++i) static_cast<void>(pool.allocate(24, 8));
    EXPECT_EQ(source.live_bytes(), 1024u);
    // Under a sanitizer the pool knows those that it has absorbed.
    if (!detail::address_sanitizer) {
        EXPECT_LE(sizeof(multipool<>), 256u);
    }
}

TEST(multipool, holds_little_more_than_twice_what_is_used) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    for (const std::size_t bytes : {8u, 24u, 100u, 500u, 3000u, 20000u, 32768u, 200000u}) {
        accounting_source source;
        pool_under_test pool(source);
        std::size_t used = 0;
        while (used < (8u << 20)) {
            static_cast<void>(pool.allocate(bytes, 8));
            used += pool_under_test::block_bytes(bytes, 8);
            ASSERT_LE(pool.held_bytes(), 2 * used + used / 2 + 8192) << bytes;
        }
        EXPECT_LE(pool.held_bytes(), used * 3 / 2) << bytes;
    }
}

TEST(multipool, over_aligned_and_large_requests_are_served_and_returned) {
    accounting_source source;
    pool_under_test pool(source);
    test::block_model model;
    for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        for (const std::size_t bytes : {0u, 1u, 24u, 100u, 32768u, 100001u, 1100001u}) {
            model.add(pool.allocate(bytes, alignment), bytes, alignment);
        }
    }
    model.check_all();
    EXPECT_EQ(pool.held_bytes(), source.live_bytes());
    const std::size_t peak = source.live_blocks();
    auto numbers = test::random_numbers();
    while (!model.empty()) {
        const auto block = model.any(numbers);
        model.remove(block.start);
        pool.deallocate(block.start, block.bytes, block.alignment);
    }
    EXPECT_LT(source.live_blocks(), peak - 70) << "large blocks go back one by one";
    EXPECT_EQ(pool.held_bytes(), source.live_bytes());
}

TEST(multipool, impossible_requests_are_null_and_change_nothing) {
    accounting_source source;
    pool_under_test pool(source);
    const std::size_t top = static_cast<std::size_t>(-1);
    for (const std::size_t bytes :
         {top, top - 7, top - 4096, detail::max_bytes, detail::max_bytes - 1, detail::max_bytes + 1}) {
        for (const std::size_t alignment : {std::size_t{1}, std::size_t{4096}, test::highest_bit}) {
            EXPECT_EQ(pool.try_allocate(bytes, alignment), nullptr);
        }
    }
    EXPECT_EQ(source.live_blocks(), 0u);
    EXPECT_THROW(static_cast<void>(pool.allocate(top, 1)), std::bad_alloc);
}

TEST(multipool, the_same_work_after_reset_takes_no_more_chunks) {
    accounting_source source;
    pool_under_test pool(source);
    std::vector<void*> first_round;
    std::size_t held = 0;
    for (int round = 0; round < 5; ++round) {
        auto numbers = test::random_numbers();
        for (int i = 0; i < 5000; ++i) {
            const auto bytes = test::uniform<std::size_t>(numbers, 0, i % 50 == 0 ? 32768 : 300);
            void* const block = pool.allocate(bytes, std::size_t{1} << test::uniform(numbers, 0, 6));
            if (round == 0) first_round.push_back(block);
            ASSERT_EQ(block, first_round[static_cast<std::size_t>(i)]) << "round " << round;
            std::memset(block, round, bytes);
        }
        if (round == 0) held = source.live_bytes();
        EXPECT_EQ(source.live_bytes(), held);
        EXPECT_EQ(pool.held_bytes(), held);
        pool.reset();
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(multipool, reset_gives_large_blocks_back) {
    accounting_source source;
    pool_under_test pool(source);
    static_cast<void>(pool.allocate(8, 8));
    for (int i = 0; i < 5; ++i) static_cast<void>(pool.allocate(2000000, 8));
    EXPECT_EQ(source.live_blocks(), 6u);
    pool.reset();
    EXPECT_EQ(source.live_blocks(), 1u);
}

TEST(multipool, over_a_monotonic_all_memory_is_released_at_once) {
    accounting_source source;
    multipool<monotonic<accounting_ref>> pool(source);
    std::size_t held = 0;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 2000; ++i) static_cast<void>(pool.allocate(static_cast<std::size_t>(i) * 50, 8));
        if (round == 0) held = source.live_bytes();
        EXPECT_EQ(source.live_bytes(), held) << "a reset keeps the source's memory, large blocks too";
        pool.reset();
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(multipool, pools_share_a_source_without_affecting_each_other) {
    accounting_source source;
    monotonic<accounting_ref> shared(source);
    multipool<source_ref<monotonic<accounting_ref>>> a(shared);
    auto* const kept = static_cast<char*>(a.allocate(100, 8));
    std::memset(kept, 7, 100);
    {
        multipool<source_ref<monotonic<accounting_ref>>> b(shared);
        std::memset(b.allocate(100, 8), 8, 100);
    }
    EXPECT_EQ(kept[99], 7);
}

TEST(multipool, the_first_chunk_holds_what_it_was_told) {
    accounting_source source;
    pool_under_test pool(first_chunk{1000 * next_of_24}, source);
    for (int i = 0; i < 1000; ++i) static_cast<void>(pool.allocate(24, 8));
    EXPECT_EQ(source.calls(), 1u);
    accounting_source of_16;
    pool_under_test aligned(first_chunk{1000 * next_of_16}, of_16);
    for (int i = 0; i < 1000; ++i) static_cast<void>(aligned.allocate(16, 16));
    EXPECT_EQ(of_16.calls(), 1u);
}

TEST(multipool, first_blocks_from_a_chunk_at_hand_are_aligned_and_kept) {
    accounting_source source;
    for (const std::size_t first : {std::size_t{1}, std::size_t{600}, std::size_t{1024}, std::size_t{40000}}) {
        for (std::size_t bytes = 0; bytes <= 1100; ++bytes) {
            for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
                multipool<test::accounting_ref_at_hand> pool(first_chunk{first}, source);
                test::block_model model;
                for (const std::size_t next : {bytes, bytes, std::size_t{24}, bytes})
                    model.add(pool.allocate(next, alignment), next, alignment);
                if (HasFailure()) return;
            }
        }
    }
}

TEST(multipool, starts_again_from_a_chunk_at_hand_after_reset_or_release) {
    accounting_source source;
    multipool<test::accounting_ref_at_hand> pool(source);
    for (int round = 0; round < 3; ++round) {
        void* const first = pool.allocate(24, 8);
        pool.reset();
        EXPECT_EQ(source.live_blocks(), 1u);
        EXPECT_EQ(pool.allocate(24, 8), first);
        pool.release();
        EXPECT_EQ(source.live_blocks(), 0u);
    }
    source.fail_from(0);
    EXPECT_THROW(static_cast<void>(pool.allocate(24, 8)), std::bad_alloc);
    source.never_fail();
    EXPECT_NE(pool.allocate(24, 8), nullptr);
}

TEST(multipool, a_source_with_less_than_the_plan_is_used_to_its_end) {
    accounting_source source;
    source.refuse_above(3000);
    pool_under_test pool(source);
    for (int i = 0; i < 1000; ++i) ASSERT_NE(pool.try_allocate(100, 8), nullptr);
    EXPECT_EQ(pool.try_allocate(3000, 8), nullptr);
}

TEST(multipool_over_slabs, every_block_lies_in_a_slab_that_knows_its_size) {
    accounting_slab_source source;
    using slab_pool = multipool<accounting_slab_ref, four_an_octave<8192>>;
    slab_pool pool(source);
    test::block_model model;
    auto numbers = test::random_numbers();
    for (int i = 0; i < 20000; ++i) {
        const auto bytes = test::uniform<std::size_t>(numbers, 0, i % 20 == 0 ? 8192 : 200);
        const std::size_t alignment = std::size_t{1} << test::uniform(numbers, 0, 6);
        void* const block = pool.allocate(bytes, alignment);
        ASSERT_EQ(source.block_bytes_at(block), slab_pool::block_bytes(bytes, alignment));
        model.add(block, bytes, alignment);
    }
    model.check_all();
    // Free without a size, as malloc's callers do.
    for (const auto& [block, promised] : model.live()) pool.deallocate_block(block, source.block_bytes_at(block));
}

TEST(multipool_over_slabs, a_slab_keeps_its_block_size_through_reset) {
    accounting_slab_source source;
    multipool<accounting_slab_ref, four_an_octave<8192>> pool(source);
    std::size_t calls = 0;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 3000; ++i) {
            const std::size_t bytes = static_cast<std::size_t>((i * 37 + round * 11) % 3000);
            void* const block = pool.allocate(bytes, 8);
            ASSERT_EQ(source.block_bytes_at(block), pool.block_bytes(bytes, 8));
        }
        pool.reset();
        if (round == 1) calls = source.calls();
        if (round == 3) {
            EXPECT_LE(source.calls(), calls + 10);
        }
    }
}

// One object of a class must not cost a chunk as large as those of the busiest class.
TEST(multipool_over_slabs, slabs_of_free_size_grow_with_their_own_class) {
    test::accounting_loose_slab_source source;
    multipool<source_ref<test::accounting_loose_slab_source>> pool(source);
    for (int i = 0; i < 100000; ++i) static_cast<void>(pool.allocate(32, 8));
    const std::size_t before = source.live_bytes();
    for (std::size_t bytes = 40; bytes <= 256; bytes += 8) static_cast<void>(pool.allocate(bytes, 8));
    EXPECT_LE(source.live_bytes() - before, 28u * 400u);
    for (const auto& [start, gift] : source.given()) EXPECT_NE(gift.block_bytes, 0u);
}

TEST(multipool_over_slabs, a_source_with_little_left_gives_a_slab_of_one_block) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    test::accounting_loose_slab_source source;
    source.refuse_above(200);
    multipool<source_ref<test::accounting_loose_slab_source>> pool(source);
    for (int i = 0; i < 100; ++i) ASSERT_NE(pool.try_allocate(64, 8), nullptr);
    EXPECT_EQ(pool.try_allocate(256, 8), nullptr);
}

TEST(multipool_over_slabs, larger_blocks_are_no_slabs) {
    accounting_slab_source source;
    multipool<accounting_slab_ref, four_an_octave<8192>> pool(source);
    void* const block = pool.allocate(100000, 8);
    EXPECT_EQ(source.block_bytes_at(block), 0u);
    pool.deallocate(block, 100000, 8);
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(free_list, gives_back_the_last_first) {
    alignas(8) char blocks[3][24] = {};
    detail::free_list list{};
    for (auto& block : blocks) list.push(block, sizeof block);
    for (int i = 2; i >= 0; --i) EXPECT_EQ(list.pop(24), blocks[i]);
    EXPECT_EQ(list.pop(24), nullptr);
    detail::unpoison(blocks, sizeof blocks);
}

}  // namespace
}  // namespace millpond
