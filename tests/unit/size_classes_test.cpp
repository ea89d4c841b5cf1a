// SPDX-License-Identifier: BSL-1.0
// size_classes_test: in every scheme, the block of every small request fits, is aligned, and is not much too large.
#include <gtest/gtest.h>

#include <algorithm>
#include <millpond/core.hpp>

#include "support/highest_bit.hpp"

namespace millpond {
namespace {

template <class Classes>
class size_classes_test : public testing::Test {};

using schemes = testing::Types<four_an_octave<>, four_an_octave<64>, four_an_octave<(1 << 25), 1024>, powers_of_two<>,
                               powers_of_two<64>, exact_spacing<>, exact_spacing<8, 4096>, exact_spacing<64, 512>,
                               class_map<8>, class_map<24, 40, 64, 104, 1000>, class_map<16, 48, 4096>>;
TYPED_TEST_SUITE(size_classes_test, schemes);

static_assert(size_class_scheme<four_an_octave<>> && size_class_scheme<powers_of_two<>> &&
              size_class_scheme<exact_spacing<>> && size_class_scheme<class_map<24>>);

TYPED_TEST(size_classes_test, every_class_is_found_by_its_own_size) {
    for (unsigned index = 0; index < TypeParam::count; ++index) {
        EXPECT_EQ(TypeParam::class_of(TypeParam::bytes_of(index), 1), index);
        EXPECT_EQ(TypeParam::bytes_of(index) % alignof(void*), 0u);
    }
    EXPECT_EQ(TypeParam::bytes_of(TypeParam::count - 1), TypeParam::largest);
}

TYPED_TEST(size_classes_test, sizes_of_classes_ascend) {
    for (unsigned index = 1; index < TypeParam::count; ++index) {
        EXPECT_LT(TypeParam::bytes_of(index - 1), TypeParam::bytes_of(index));
    }
}

// For all sizes 0 … 4096 and alignments 1 … 64 the block fits and keeps its alignment in a row of its kind.
TYPED_TEST(size_classes_test, every_request_gets_the_smallest_aligned_block_that_fits) {
    for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
        for (std::size_t bytes = 0; bytes <= 4096; ++bytes) {
            unsigned expected = 0;
            while (expected < TypeParam::count &&
                   (TypeParam::bytes_of(expected) < bytes || TypeParam::bytes_of(expected) % alignment != 0)) {
                ++expected;
            }
            ASSERT_EQ(TypeParam::class_of(bytes, alignment), expected) << bytes << " aligned to " << alignment;
        }
    }
}

TYPED_TEST(size_classes_test, larger_requests_get_no_smaller_class) {
    for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
        unsigned last = 0;
        const std::size_t end = std::min<std::size_t>(TypeParam::largest + 2, 70000);
        for (std::size_t bytes = 0; bytes < end; ++bytes) {
            const unsigned index = TypeParam::class_of(bytes, alignment);
            ASSERT_LE(last, index) << bytes << " aligned to " << alignment;
            last = index;
        }
    }
}

TYPED_TEST(size_classes_test, oversized_requests_have_no_class) {
    EXPECT_EQ(TypeParam::class_of(TypeParam::largest + 1, 1), unsigned{TypeParam::count});
    EXPECT_EQ(TypeParam::class_of(8, 128), unsigned{TypeParam::count});
    EXPECT_EQ(TypeParam::class_of(detail::max_bytes, 1), unsigned{TypeParam::count});
    EXPECT_EQ(TypeParam::class_of(static_cast<std::size_t>(-1), 64), unsigned{TypeParam::count});
    EXPECT_EQ(TypeParam::class_of(1, test::highest_bit), unsigned{TypeParam::count});
}

TEST(size_classes, four_an_octave_lose_at_most_a_fifth_of_a_block) {
    using classes = four_an_octave<>;
    for (std::size_t bytes = 33; bytes <= classes::largest; ++bytes) {
        const std::size_t block = classes::bytes_of(classes::class_of(bytes, 1));
        ASSERT_LT((block - bytes) * 5, block) << bytes;
    }
}

TEST(size_classes, powers_of_two_lose_less_than_half_of_a_block) {
    using classes = powers_of_two<>;
    for (std::size_t bytes = 5; bytes <= classes::largest; ++bytes) {
        ASSERT_GT(2 * bytes, classes::bytes_of(classes::class_of(bytes, 1)));
    }
}

TEST(size_classes, exact_spacing_loses_less_than_the_spacing) {
    using classes = exact_spacing<16, 1024>;
    for (std::size_t bytes = 1; bytes <= classes::largest; ++bytes) {
        ASSERT_LT(classes::bytes_of(classes::class_of(bytes, 1)) - bytes, 16u);
    }
}

TEST(alignment, padding_leads_to_the_next_multiple) {
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (std::uintptr_t address = 0; address < 9000; ++address) {
            const std::size_t padding = detail::padding_to(address, alignment);
            ASSERT_LT(padding, alignment);
            ASSERT_EQ((address + padding) % alignment, 0u);
            ASSERT_EQ(detail::align_up(address, alignment), address + padding);
        }
    }
    EXPECT_EQ(detail::padding_to(~std::uintptr_t{0}, 4096), 1u);
}

TEST(alignment, natural_alignment_divides_and_is_the_largest) {
    for (std::size_t bytes = 1; bytes < 5000; ++bytes) {
        const std::size_t natural = detail::natural_alignment(bytes);
        ASSERT_TRUE(detail::is_power_of_two(natural));
        ASSERT_EQ(bytes % natural, 0u);
        ASSERT_NE(bytes % (2 * natural), 0u);
    }
    EXPECT_FALSE(detail::is_power_of_two(0));
    EXPECT_FALSE(detail::is_power_of_two(24));
}

}  // namespace
}  // namespace millpond
