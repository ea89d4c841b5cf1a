// SPDX-License-Identifier: BSL-1.0
// associative_sets_test: random lives of ranked sets, compared with std::set and std::multiset; comparisons,
// allocations, copies and moves fail now and then.
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

TYPED_TEST(associative_sets, live_as_the_standard_ones) { expect_lives_as_the_standard_ones<TypeParam>(); }

}  // namespace
}  // namespace millpond::test
