// SPDX-License-Identifier: BSL-1.0
// associative_maps_test: random lives of ranked maps, compared with std::map and std::multimap; comparisons,
// allocations, copies and moves fail now and then.
#include <gtest/gtest.h>

#include "associative_life.hpp"

namespace millpond::test {
namespace {

using kinds = testing::Types<map_kind<copied_or_thrown, counted_map, counted_multimap, true, true>,
                             map_kind<int, ordered_multimap, ordered_map, false, false>,
                             map_kind<copied_or_thrown, tiny_map, tiny_multimap, true, false>>;

template <class Kind>
class associative_maps : public testing::Test {};
TYPED_TEST_SUITE(associative_maps, kinds);

TYPED_TEST(associative_maps, live_as_the_standard_ones) { expect_lives_as_the_standard_ones<TypeParam>(); }

}  // namespace
}  // namespace millpond::test
