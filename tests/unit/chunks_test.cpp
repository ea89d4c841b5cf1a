// SPDX-License-Identifier: BSL-1.0
// chunks_test: the requests of pools to their source, chunk by chunk: sizes, ends of chunks, large blocks, moves by
// absorb.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <millpond/block.hpp>
#include <millpond/local.hpp>
#include <numeric>
#include <set>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;

template <class Pool>
class chunks : public testing::Test {};
using pools = testing::Types<monotonic<accounting_ref>, multipool<accounting_ref>>;
TYPED_TEST_SUITE(chunks, pools);

TYPED_TEST(chunks, begin_small_again_after_a_release) {
    accounting_source source;
    TypeParam pool(source);
    for (int round = 0; round < 3; ++round) {
        static_cast<void>(pool.allocate(8, 8));
        EXPECT_EQ(source.live_bytes(), 1024u);
        for (int i = 0; i < 5000; ++i) static_cast<void>(pool.allocate(100, 8));
        EXPECT_GT(source.live_bytes(), 100000u);
        pool.release();
        EXPECT_EQ(source.live_blocks(), 0u);
    }
}

TYPED_TEST(chunks, are_counted_whether_in_use_or_kept) {
    accounting_source source;
    TypeParam pool(source);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
        for (int i = 0; i < 1000 * (round + 1); ++i) static_cast<void>(pool.allocate(100, 8));
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
        pool.reset();
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
        EXPECT_GT(pool.held_bytes(), 0u);
    }
}

TYPED_TEST(chunks, absorbed_pools_kept_chunks_serve_before_the_source) {
    accounting_source source;
    TypeParam a(source), b(source), c(source);
    for (TypeParam* pool : {&a, &b, &c}) {
        for (int i = 0; i < 3000; ++i) static_cast<void>(pool->allocate(100, 8));
    }
    b.reset();
    c.reset();
    static_cast<void>(c.allocate(100, 8));
    a.absorb(b);
    a.absorb(c);
    EXPECT_EQ(a.held_bytes(), source.live_bytes());
    const std::size_t calls = source.calls();
    for (int i = 0; i < 4000; ++i) static_cast<void>(a.allocate(100, 8));
    EXPECT_EQ(source.calls(), calls);
    a.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TYPED_TEST(chunks, chunks_of_an_owner_outlive_resets_of_absorbed_pools) {
    accounting_source source;
    TypeParam a(source), b(source);
    test::block_model model;
    for (int i = 0; i < 100; ++i) model.add((i % 2 == 0 ? a : b).allocate(100, 8), 100, 8);
    a.absorb(b);
    for (int round = 0; round < 3; ++round) {
        round == 1 ? b.release() : b.reset();
        for (int i = 0; i < 100; ++i) model.add((i % 2 == 0 ? a : b).allocate(100, 8), 100, 8);
        model.check_all();
    }
}

TYPED_TEST(chunks, a_first_chunk_of_nothing_is_a_small_one) {
    accounting_source source;
    TypeParam pool(first_chunk{0}, source);
    static_cast<void>(pool.allocate(8, 8));
    EXPECT_LE(source.calls(), 2u);
    EXPECT_GE(source.live_bytes(), 256u);
    EXPECT_LE(source.live_bytes(), 1024u);
}

TEST(absorbed_blocks, free_blocks_serve_through_any_number_of_owners) {
    accounting_source source;
    multipool<accounting_ref> a(source), b(source), c(source), d(source);
    for (auto* pool : {&a, &b, &c, &d}) {
        std::vector<void*> blocks(1000);
        for (void*& block : blocks) block = pool->allocate(24, 8);
        for (void* block : blocks) pool->deallocate(block, 24, 8);
    }
    c.absorb(d);
    b.absorb(c);
    a.absorb(b);
    const std::size_t calls = source.calls();
    for (int i = 0; i < 4000; ++i) static_cast<void>(a.allocate(24, 8));
    EXPECT_EQ(source.calls(), calls);
}

// The class may be in any state: with blocks that are ready, freed, or fresh.
TEST(absorbed_blocks, all_free_blocks_are_given_out_again) {
    for (std::size_t count = 1; count <= 40; ++count) {
        accounting_source source;
        multipool<accounting_ref> a(source), b(source);
        static_cast<void>(a.allocate(24, 8));
        std::vector<void*> blocks(count);
        for (void*& block : blocks) block = b.allocate(24, 8);
        for (void* block : blocks) b.deallocate(block, 24, 8);
        std::set<void*> freed(blocks.begin(), blocks.end());
        freed.erase(b.allocate(24, 8));
        a.absorb(b);
        for (int i = 0; i < 1000; ++i) freed.erase(a.allocate(24, 8));
        EXPECT_EQ(freed.size(), 0u) << count;
    }
}

// Pools absorb each other in any order, with blocks and kept chunks of their own: in the end all memory is the owner's.
TYPED_TEST(chunks, chunks_of_many_pools_become_those_of_one) {
    auto numbers = test::random_numbers();
    for (int round = 0; round < 30; ++round) {
        accounting_source source;
        TypeParam owner(source), a(source), b(source), c(source);
        std::array<TypeParam*, 4> pool{&owner, &a, &b, &c};
        for (TypeParam* each : pool) {
            for (int life = test::uniform(numbers, 0, 2); life > 0; --life) {
                for (int i = test::uniform(numbers, 0, 200); i > 0; --i) static_cast<void>(each->allocate(100, 8));
                if (test::uniform(numbers, 0, 1) == 0) static_cast<void>(each->allocate(3000000, 8));
                if (life > 1) each->reset();
            }
        }
        // An earlier one absorbs a later one, and so is destroyed after it.
        std::vector<TypeParam*> left(pool.begin(), pool.end());
        while (left.size() > 1) {
            const auto from = test::uniform<std::size_t>(numbers, 1, left.size() - 1);
            left[test::uniform<std::size_t>(numbers, 0, from - 1)]->absorb(*left[from]);
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(from));
        }
        EXPECT_EQ(owner.held_bytes(), source.live_bytes());
        owner.reset();
        EXPECT_EQ(owner.held_bytes(), source.live_bytes());
        owner.release();
        EXPECT_EQ(source.live_blocks(), 0u);
    }
}

// Lists of two are made in every way, and their blocks are freed in every order.
TEST(large_blocks, absorbed_in_any_number_they_go_in_any_order) {
    for (std::size_t in_a = 0; in_a <= 2; ++in_a) {
        for (std::size_t in_b = 0; in_b <= 2; ++in_b) {
            for (std::size_t in_c = 0; in_c <= 1; ++in_c) {
                std::vector<std::size_t> order(in_a + in_b + in_c);
                std::iota(order.begin(), order.end(), std::size_t{0});
                do {
                    accounting_source source;
                    detail::large_blocks a, b, c;
                    std::vector<void*> blocks;
                    for (std::size_t i = 0; i < in_a; ++i) blocks.push_back(a.try_allocate(source, 100 + i, 8));
                    for (std::size_t i = 0; i < in_b; ++i) blocks.push_back(b.try_allocate(source, 100 + in_a + i, 8));
                    for (std::size_t i = 0; i < in_c; ++i)
                        blocks.push_back(c.try_allocate(source, 100 + in_a + in_b + i, 8));
                    a.absorb(b);
                    a.absorb(c);
                    EXPECT_FALSE(b.any() || c.any());
                    for (const std::size_t i : order) {
                        ASSERT_EQ(a.held_bytes(), source.live_bytes());
                        a.deallocate(source, blocks[i], 100 + i);
                    }
                    ASSERT_FALSE(a.any());
                    ASSERT_EQ(source.live_blocks(), 0u);
                } while (std::next_permutation(order.begin(), order.end()));
            }
        }
    }
}

TEST(large_blocks, every_size_and_alignment_comes_back_as_it_was_asked_for) {
    accounting_source source;
    detail::large_blocks blocks;
    test::block_model model;
    for (std::size_t alignment = 1; alignment <= 8192; alignment *= 2) {
        for (std::size_t bytes = 0; bytes < 70; ++bytes)
            model.add(blocks.try_allocate(source, bytes, alignment), bytes, alignment);
    }
    model.check_all();
    EXPECT_EQ(blocks.held_bytes(), source.live_bytes());
    for (const auto& [start, gift] : source.given()) EXPECT_GE(gift.alignment, alignof(void*)) << "of the record";
    auto numbers = test::random_numbers();
    for (int i = 0; i < 500; ++i) {
        const auto block = model.any(numbers);
        model.remove(block.start);
        blocks.deallocate(source, block.start, block.bytes);
        ASSERT_EQ(blocks.held_bytes(), source.live_bytes());
    }
    model.check_all();
    blocks.release(source);
    EXPECT_FALSE(blocks.any());
    EXPECT_EQ(source.live_blocks(), 0u);
    EXPECT_EQ(blocks.try_allocate(source, detail::max_bytes, 8), nullptr);
    EXPECT_EQ(blocks.try_allocate(source, detail::max_bytes - 40, 8), nullptr);
}

TEST(shared_large_blocks, a_refused_block_takes_no_slot) {
    accounting_source source;
    detail::shared_large_blocks blocks;
    void* const kept = blocks.try_allocate(source, 1000, 8);
    const std::size_t held = blocks.held_bytes();
    source.fail_from(0);
    for (int i = 0; i < 200; ++i) EXPECT_EQ(blocks.try_allocate(source, 1000, 8), nullptr);
    EXPECT_EQ(blocks.held_bytes(), held);
    source.never_fail();
    std::vector<void*> others(63);  // the slots that are left without asking for more
    for (void*& block : others) block = blocks.try_allocate(source, 1000, 8);
    EXPECT_EQ(source.live_blocks(), 64u);
    blocks.deallocate(source, kept, 1000);
    blocks.release(source);
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(multipool_rows, a_chunk_is_cut_to_its_end_and_no_further) {
    // Every size has a pool of its own, and the source's memory ends where the chunk does.
    for (std::size_t bytes = 8; bytes <= 3000; bytes += bytes < 200 ? 8 : 56) {
        accounting_source source;
        multipool<accounting_ref, exact_spacing<8, 4096>> pool(source);
        test::block_model model;
        for (int i = 0; i < 300; ++i) {
            auto* const block = static_cast<char*>(pool.allocate(bytes, 8));
            model.add(block, bytes, 8);
            const auto chunk = std::prev(source.given().upper_bound(block));
            ASSERT_LE(block + bytes, static_cast<char*>(chunk->first) + chunk->second.bytes) << bytes;
            ASSERT_GE(block, static_cast<char*>(chunk->first) + sizeof(detail::chunk_header));
        }
        model.check_all();
    }
}

TEST(multipool_rows, classes_in_turns_share_chunks_without_meeting) {
    accounting_source source;
    multipool<accounting_ref> pool(source);
    test::block_model model;
    auto numbers = test::random_numbers();
    for (int i = 0; i < 5000; ++i) {
        const auto bytes = test::uniform<std::size_t>(numbers, 1, i % 40 == 0 ? 60000 : 2000);
        const std::size_t alignment = std::size_t{1} << test::uniform(numbers, 0, 6);
        auto* const block = static_cast<char*>(pool.allocate(bytes, alignment));
        model.add(block, bytes, alignment);
        const auto chunk = std::prev(source.given().upper_bound(block));
        ASSERT_LE(block + pool.block_bytes(bytes, alignment), static_cast<char*>(chunk->first) + chunk->second.bytes);
    }
    model.check_all();
}

TEST(multipool_rows, a_class_takes_one_row_ahead_and_no_more) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    accounting_source source;
    multipool<accounting_ref> pool(source);
    constexpr std::size_t classes = 20, row = std::size_t{32} << 10;
    std::size_t used = 0;
    for (std::size_t size = 1; size <= classes; ++size) {
        for (std::size_t bytes = 0; bytes < 4 * row + 1024; bytes += pool.block_bytes(8 * size, 8)) {
            static_cast<void>(pool.allocate(8 * size, 8));
            used += pool.block_bytes(8 * size, 8);
        }
    }
    EXPECT_LE(pool.held_bytes(), used + classes * row + (std::size_t{256} << 10));
}

TEST(multipool_rows, classes_in_turns_keep_their_blocks_together) {
    multipool<> pool;
    char* last[2] = {};
    int neighbours = 0;
    for (int i = 0; i < 5000; ++i) {
        for (const std::size_t size : {0u, 1u}) {
            auto* const block = static_cast<char*>(pool.allocate(24 + 16 * size, 8));
            neighbours +=
                last[size] != nullptr && block == last[size] + 24 + 16 * size + detail::gap_in_row(24 + 16 * size);
            last[size] = block;
        }
    }
    EXPECT_GT(neighbours, 9900);
}

TEST(multipool_rows, freed_blocks_serve_before_fresh_ones) {
    multipool<> pool;
    for (std::size_t count = 1; count <= 40; ++count) {
        std::set<void*> blocks;
        while (blocks.size() < count) blocks.insert(pool.allocate(24, 8));
        for (void* block : blocks) pool.deallocate(block, 24, 8);
        for (std::size_t i = 0; i < count; ++i) blocks.erase(pool.allocate(24, 8));
        EXPECT_EQ(blocks.size(), 0u) << count;
        pool.reset();
    }
}

TEST(multipool_rows, large_blocks_that_live_go_with_the_pool) {
    accounting_source source;
    {
        multipool<accounting_ref> pool(source);
        for (int i = 0; i < 3; ++i) static_cast<void>(pool.allocate(3000000, 8));
        static_cast<void>(pool.allocate(24, 128));
        EXPECT_EQ(source.live_blocks(), 4u);
    }
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(multipool_rows, a_room_is_not_dropped_for_a_smaller_one) {
    accounting_source source;
    multipool<accounting_ref> pool(first_chunk{20000}, source);
    static_cast<void>(pool.allocate(8, 8));
    static_cast<void>(pool.allocate(40000, 8));  // has a chunk of its own
    const std::size_t calls = source.calls();
    for (int i = 0; i < 100; ++i) static_cast<void>(pool.allocate(128, 8));
    EXPECT_EQ(source.calls(), calls);
}

}  // namespace
}  // namespace millpond
