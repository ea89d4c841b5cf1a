// SPDX-License-Identifier: BSL-1.0
// Heaps of the study other than the classic allocators: random operations, with the contents of each live block
// checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "lab/mallocs/bump_heap.hpp"
#include "lab/mallocs/tagged_blocks.hpp"
#include "millpond/classic.hpp"
#include "tests/unit/support/seed.hpp"

namespace millpond::mallocs {
namespace {

using words = classic::pointer_words;
using bump = bump_heap<words, classic::operation_counts, region>;
using tagged = tagged_blocks<classic::gnu_local<words, classic::operation_counts, 0, region>>;

struct block {
    std::byte* start;
    std::size_t bytes;
    unsigned char mark;
};

bool is_whole(const block& each) {
    return std::all_of(each.start, each.start + each.bytes,
                       [&](std::byte one) { return one == static_cast<std::byte>(each.mark); });
}

template <class Heap>
class variant : public testing::Test {};
using heaps = testing::Types<bump, tagged>;
TYPED_TEST_SUITE(variant, heaps);

TYPED_TEST(variant, blocks_are_aligned_apart_and_keep_their_bytes) {
    std::mt19937_64 random(test::seed());
    TypeParam heap;
    std::vector<block> live;
    for (unsigned step = 0; step < 20000; ++step) {
        if (live.empty() || random() % 3 != 0) {
            const std::size_t alignment = std::size_t{1} << random() % (random() % 16 == 0 ? 14 : 6);
            const std::size_t bytes = random() % (random() % 32 == 0 ? 20000 : 200);
            auto* const start = static_cast<std::byte*>(heap.try_allocate(bytes, alignment));
            ASSERT_NE(start, nullptr);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(start) % std::max(alignment, words::alignment), 0u);
            const std::size_t usable = heap.usable_bytes(start);
            ASSERT_GE(usable, bytes);
            // All that the user may use is used: neighbours and tags must not lie there.
            const auto mark = static_cast<unsigned char>(random());
            std::memset(start, mark, usable);
            live.push_back({start, usable, mark});
        } else {
            std::swap(live[random() % live.size()], live.back());
            ASSERT_TRUE(is_whole(live.back())) << step;
            heap.deallocate(live.back().start);
            live.pop_back();
        }
    }
    EXPECT_TRUE(std::all_of(live.begin(), live.end(), is_whole));
}

TYPED_TEST(variant, requests_beyond_all_memory_are_null) {
    TypeParam heap;
    EXPECT_EQ(heap.try_allocate(~std::size_t{0} / 2, 16), nullptr);
    EXPECT_EQ(heap.try_allocate(16, std::size_t{1} << 63), nullptr);
    EXPECT_NE(heap.try_allocate(16, 16), nullptr);
}

TEST(bump_heap, freed_blocks_are_never_used_again) {
    bump heap;
    std::byte* before = nullptr;
    for (unsigned i = 0; i < 1000; ++i) {
        auto* const start = static_cast<std::byte*>(heap.try_allocate(i, 16));
        EXPECT_GT(start, before);
        heap.deallocate(start);
        before = start;
    }
}

TEST(bump_heap, a_block_costs_its_bytes_and_one_word) {
    bump heap;
    auto* const first = static_cast<std::byte*>(heap.try_allocate(24, 8));
    auto* const second = static_cast<std::byte*>(heap.try_allocate(24, 8));
    EXPECT_EQ(second - first, 48);  // 32 usable bytes, 8 of the word, and 8 that align the next
    EXPECT_EQ(heap.operations().allocations, 2u);
}

TEST(tagged_blocks, the_tag_is_in_front_of_the_user) {
    tagged heap;
    auto* const start = static_cast<std::byte*>(heap.try_allocate(48, 16));
    std::uintptr_t tag = 0;
    std::memcpy(&tag, start - sizeof tag, sizeof tag);
    EXPECT_EQ(tag, 16u);
    EXPECT_EQ(heap.usable_bytes(start), 48u);  // a block of 64 has 16 bytes before the user's
}

}  // namespace
}  // namespace millpond::mallocs
