// SPDX-License-Identifier: BSL-1.0
// region_sanitizer_test: under AddressSanitizer only the live blocks of a range are accessible, and all of its memory
// after it was returned.
#include <gtest/gtest.h>

#include <millpond/block/region.hpp>
#include <millpond/local/arena.hpp>

static_assert(millpond::detail::address_sanitizer, "build this test with -fsanitize=address");

namespace millpond {
namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

// Return true if the bytes [first, last) of a block are all closed, or all open.
bool closed(const char* block, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
        if (!__asan_address_is_poisoned(block + i)) return false;
    }
    return true;
}
bool open(const char* block, std::size_t first, std::size_t last) {
    return __asan_region_is_poisoned(const_cast<char*>(block) + first, last - first) == nullptr;
}

TEST(region_sanitizer, exactly_the_blocks_are_accessible) {
    region source(4 * mega);
    char* const block = static_cast<char*>(source.allocate(104, 8));
    EXPECT_TRUE(open(block, 0, 104));
    EXPECT_TRUE(closed(block, 104, source.held_bytes()));
    char* const next = static_cast<char*>(source.allocate(104, 8));
    EXPECT_TRUE(open(next, 0, 104));
    source.deallocate(block, 104, 8);
    EXPECT_TRUE(closed(block, 0, 104));
    source.deallocate(next, 104, 8);
    EXPECT_TRUE(closed(block, 0, source.held_bytes()));
}

TEST(region_sanitizer, resizing_a_block_opens_and_closes_exactly_its_bytes) {
    region source(4 * mega);
    char* const block = static_cast<char*>(source.allocate(104, 8));
    const std::size_t grown = source.try_resize(block, 104, mega);
    EXPECT_TRUE(open(block, 0, grown));
    EXPECT_TRUE(closed(block, grown, source.held_bytes()));
    const std::size_t shrunk = source.try_resize(block, grown, 1000);
    EXPECT_TRUE(open(block, 0, shrunk));
    EXPECT_TRUE(closed(block, shrunk, source.held_bytes()));
    source.reset();
    EXPECT_TRUE(closed(block, 0, source.held_bytes()));
}

TEST(region_sanitizer, returned_memory_is_open_to_its_next_owner) {
    const char* block = nullptr;
    {
        region source(4 * mega);
        block = static_cast<char*>(source.allocate(mega, 8));
        source.reset();
        ASSERT_TRUE(closed(block, 0, source.held_bytes()));
        source.release();
        EXPECT_TRUE(open(block, 0, mega));
        EXPECT_EQ(source.allocate(mega, 8), block);
        source.reset();
    }
    EXPECT_TRUE(open(block, 0, mega));
    reservation range(4 * mega);
    ASSERT_TRUE(range.commit_to(mega));
    detail::poison(range.data(), mega);
    range.decommit_to(mega / 2);
    ASSERT_TRUE(range.commit_to(mega));
    range.data()[mega - 1] = std::byte{1};
    EXPECT_TRUE(closed(reinterpret_cast<const char*>(range.data()), 0, mega / 2));
}

TEST(region_sanitizer, memory_that_an_arena_has_not_given_out_is_closed) {
    arena pool(4 * mega);
    char* last = nullptr;
    for (std::size_t sum = 0; sum < mega; sum += 1000) {
        last = static_cast<char*>(pool.allocate(1000, 8));
        ASSERT_TRUE(open(last, 0, 1000));
    }
    const auto place = pool.checkpoint();
    EXPECT_TRUE(closed(last, 1000, 10'000));
    char* const more = static_cast<char*>(pool.allocate(mega, 8));
    pool.rewind(place);
    EXPECT_TRUE(closed(more, 0, 100'000));
    EXPECT_TRUE(open(last, 0, 1000));
}

}  // namespace
}  // namespace millpond
