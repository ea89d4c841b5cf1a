// SPDX-License-Identifier: BSL-1.0
// kept_memory: the arithmetic of the amount that is kept, without any memory.
#include "preload/kept_memory.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using millpond::preload::kept_memory;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST(kept_memory, a_quarter_and_a_mebibyte_always_stay) {
    std::mt19937 random(1);
    kept_memory keeping;
    std::uint64_t now_ms = 0;
    for (int i = 0; i < 100000; ++i) {
        const kept_memory::amounts now{random() % (512 * mebibyte), random() % (512 * mebibyte)};
        switch (random() % 4) {
            case 0:
                keeping.note_taking();
                break;
            case 1:
                keeping.note_taken(now);
                break;
            case 2:
                keeping.note_returned(random() % mebibyte);
                keeping.note_growth(random() % mebibyte);
                break;
            default: {
                const kept_memory::order order =
                    keeping.note_emptied(1 + random() % mebibyte, now, now_ms += random() % 9);
                ASSERT_GE(order.kept, now.in_use / 4);
                ASSERT_GE(order.kept, kept_memory::least);
            }
        }
    }
}

TEST(kept_memory, returns_no_memory_while_blocks_are_taken) {
    kept_memory keeping;
    keeping.note_taken({100 * mebibyte, 0});
    for (std::size_t empty = 1; empty < 100; ++empty) {
        keeping.note_taking();
        EXPECT_EQ(keeping.note_emptied(mebibyte, {(100 - empty) * mebibyte, empty * mebibyte}, 1).pieces, 0u) << empty;
    }
}

TEST(kept_memory, a_teardown_begins_with_the_first_quarter) {
    kept_memory keeping;
    keeping.note_taken({100 * mebibyte, 0});
    for (std::size_t empty = 1; empty < 100; ++empty) {
        const auto order = keeping.note_emptied(mebibyte, {(100 - empty) * mebibyte, empty * mebibyte}, 1);
        EXPECT_EQ(order.pieces != 0, empty >= 25) << empty;
    }
}

TEST(kept_memory, memory_that_was_taken_again_stays_next_time) {
    kept_memory keeping;
    keeping.note_taken({100 * mebibyte, 0});
    keeping.note_returned(60 * mebibyte);
    keeping.note_growth(40 * mebibyte);
    EXPECT_EQ(keeping.note_emptied(99 * mebibyte, {0, 100 * mebibyte}, 1).kept, 41 * mebibyte);
}

TEST(kept_memory, an_epoch_returns_what_lay_unused_in_it) {
    kept_memory keeping;
    keeping.note_taking();
    keeping.note_taken({10 * mebibyte, 90 * mebibyte});
    (void)keeping.note_emptied(1, {10 * mebibyte, 90 * mebibyte}, 1000);  // the first epoch knows no least
    keeping.note_taking();
    keeping.note_taken({40 * mebibyte, 60 * mebibyte});
    EXPECT_EQ(keeping.note_emptied(1, {20 * mebibyte, 80 * mebibyte}, 1999).pieces, 0u);
    keeping.note_taking();
    const auto order = keeping.note_emptied(1, {20 * mebibyte, 80 * mebibyte}, 2000);
    EXPECT_EQ(order.kept, 20 * mebibyte) << "60 of 80 were never needed";
    EXPECT_GT(order.pieces, 1000u);
}

}  // namespace
