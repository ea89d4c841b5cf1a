// SPDX-License-Identifier: BSL-1.0
// cached_classes: a size gets the smallest class that fits, and an alignment the first class that is a multiple of it.
#include "preload/cached_classes.hpp"

#include <gtest/gtest.h>

namespace {

using classes = millpond::preload::cached_classes;

TEST(cached_classes, ascend_in_multiples_of_16_up_to_the_largest) {
    for (unsigned i = 1; i < classes::count; ++i) {
        EXPECT_EQ(classes::bytes_of(i) % 16, 0u) << i;
        EXPECT_LE(classes::bytes_of(i), std::size_t{65536}) << i;
        EXPECT_TRUE(classes::bytes_of(i) <= 8192 || classes::bytes_of(i) % 64 == 0) << i;
        if (i > 1) {
            EXPECT_GT(classes::bytes_of(i), classes::bytes_of(i - 1)) << i;
        }
    }
    EXPECT_EQ(classes::bytes_of(classes::count - 1), classes::largest);
}

TEST(cached_classes, find_the_smallest_class_that_fits) {
    for (std::size_t bytes = 1; bytes <= classes::largest; ++bytes) {
        const unsigned found = classes::class_of(bytes);
        ASSERT_GE(classes::bytes_of(found), bytes);
        if (found > 1) {
            ASSERT_LT(classes::bytes_of(found - 1), bytes);
        }
    }
    EXPECT_EQ(classes::class_of(0), 1u);
}

TEST(cached_classes, lose_at_most_an_eighth_and_a_sixth_above_8_kib) {
    for (std::size_t bytes = 128; bytes <= 8192; ++bytes)
        ASSERT_LT(classes::bytes_of(classes::class_of(bytes)) * 8, bytes * 9 + 128) << bytes;
    for (std::size_t bytes = 8193; bytes <= classes::largest; ++bytes)
        ASSERT_LE(classes::bytes_of(classes::class_of(bytes)) * 6, bytes * 7) << bytes;
}

TEST(cached_classes, waste_less_than_a_line_per_block_of_touched_pages) {
    for (unsigned each = classes::class_of(2049); each < classes::count; ++each) {
        const std::size_t bytes = classes::bytes_of(each), blocks = 65536 / bytes;
        const std::size_t pages = (blocks * bytes + 4095) / 4096;
        EXPECT_LT(pages * 4096 - blocks * bytes, blocks * 64 + 64) << bytes;
    }
}

TEST(cached_classes, are_packed_while_three_blocks_fill_a_slab) {
    EXPECT_EQ(classes::largest, 32768u);
    EXPECT_EQ(65536 / classes::largest_packed, 3u);
    EXPECT_EQ(65536 / classes::bytes_of(classes::class_of(classes::largest_packed) + 1), 2u);
}

TEST(cached_classes, serve_every_alignment_up_to_64) {
    for (std::size_t alignment = 1; alignment <= classes::alignment_max; alignment *= 2) {
        for (std::size_t bytes = 1; bytes <= classes::largest; ++bytes) {
            const unsigned found = classes::class_of(bytes, alignment);
            ASSERT_NE(found, 0u);
            ASSERT_EQ(classes::bytes_of(found) % alignment, 0u);
            ASSERT_GE(classes::bytes_of(found), bytes);
        }
    }
}

}  // namespace
