// SPDX-License-Identifier: BSL-1.0
// heap_litter: holds the noted blocks and frees the given fraction of them.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "lab/measure/heap_litter.hpp"

namespace {

using millpond::measure::heap_litter;

constexpr std::size_t block_bytes = 1000;

void note(heap_litter& heap, std::uint64_t blocks) {
    for (std::uint64_t i = 0; i < blocks; ++i) heap.note(block_bytes);
}

TEST(heap_litter, holds_what_was_noted_until_its_end) {
    auto heap = std::make_unique<heap_litter>();
    const std::size_t before = ::mallinfo2().uordblks;
    note(*heap, 500);
    EXPECT_EQ(heap->noted_blocks(), 500u);
    heap->hold();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_GE(::mallinfo2().uordblks, before + 500 * block_bytes);
#endif
    heap.reset();
    EXPECT_LT(::mallinfo2().uordblks, before + 50 * block_bytes);  // except the blocks that malloc keeps for the thread
}

TEST(heap_litter, frees_the_fraction) {
    for (const double fraction : {0.0, 0.25, 0.5, 0.999, 1.0}) {
        heap_litter heap;
        note(heap, 400);
        heap.hold();
        const auto expected = static_cast<std::uint64_t>(400 * fraction + 0.5);
        EXPECT_EQ(heap.free_fraction(fraction, 7), expected);
        EXPECT_EQ(heap.free_fraction(1, 7), 400 - expected);
    }
}

// Freeing half of a row at random leaves holes between live blocks; freeing them in order would leave one hole.
TEST(heap_litter, frees_at_random_by_the_seed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's malloc keeps freed blocks back";
#else
    std::vector<std::size_t> holes;
    for (const std::uint64_t seed : {1, 1, 2}) {
        ::malloc_trim(0);
        heap_litter heap;
        for (int i = 0; i < 2000; ++i) heap.note(3000);  // too large for the lists of one thread
        heap.hold();
        const std::size_t before = ::mallinfo2().ordblks;
        heap.free_fraction(0.5, seed);
        holes.push_back(::mallinfo2().ordblks - before);
    }
    for (const std::size_t each : holes) EXPECT_GT(each, 100u);
    EXPECT_EQ(holes[0], holes[1]);
#endif
}

TEST(heap_litter, leaves_out_blocks_beyond_the_budget) {
    heap_litter heap;
    heap.note(heap_litter::most_bytes + 1);
    EXPECT_EQ(heap.noted_blocks(), 0u);
    heap.note(heap_litter::most_bytes - 10);
    heap.note(11);
    EXPECT_EQ(heap.noted_blocks(), 1u);
    heap.note(10);
    EXPECT_EQ(heap.noted_blocks(), 2u);
    heap.note(1);
    EXPECT_EQ(heap.noted_blocks(), 2u);
}

TEST(heap_litter, may_be_told_by_several_threads) {
    heap_litter heap;
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) all.emplace_back([&] { note(heap, 1000); });
    for (std::thread& each : all) each.join();
    EXPECT_EQ(heap.noted_blocks(), 4000u);
    heap.hold();
    EXPECT_EQ(heap.free_fraction(1, 7), 4000u);
}

}  // namespace
