// SPDX-License-Identifier: BSL-1.0
// associative_sets_test: random lives of sets with ranks beside std::set and std::multiset; comparisons, allocations,
// copies and moves fail now and then.
#include <gtest/gtest.h>

#include "associative_life.hpp"

namespace millpond::test {
namespace {

using kinds = testing::Types<set_kind<copied_or_thrown, counted_set, counted_multiset, true, true>,
                             set_kind<int, counted_multiset, counted_set, false, true>,
                             set_kind<copied, ordered_set, ordered_multiset, true, false>,
                             set_kind<int, tiny_set, tiny_multiset, true, false>,
                             set_kind<copied_or_thrown, tiny_multiset, tiny_set, false, false>>;

template <class Kind>
class associative_sets : public testing::Test {};
TYPED_TEST_SUITE(associative_sets, kinds);

TYPED_TEST(associative_sets, live_as_the_standard_ones) {
    for (std::uint64_t salt = 0; salt < 5 && !this->HasFailure(); ++salt) {
        SCOPED_TRACE("life " + std::to_string(salt));
        associative_life<TypeParam>(salt).live(300);
        EXPECT_EQ(element_books::alive.size(), 0U);
        for (const auto& [number, blocks] : allocation_books::blocks) EXPECT_EQ(blocks, 0) << "allocator " << number;
    }
}

}  // namespace
}  // namespace millpond::test
