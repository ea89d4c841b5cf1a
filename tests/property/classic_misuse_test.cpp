// SPDX-License-Identifier: BSL-1.0
// classic_misuse_test: checked mode reports misuses of classic allocators like those of all others.
#include <gtest/gtest.h>

#include <cstddef>
#include <millpond/millpond.hpp>
#include <vector>

#include "../unit/support/recorded_misuses.hpp"

namespace millpond::classic {
namespace {

using kind = misuse_kind;

template <class Heap>
class classic_misuse : public testing::Test {};
using heaps = testing::Types<first_fit<>, best_fit<offset_words>, gnu_gxx<>, bsd<offset_words>, gnu_local<>,
                             quick_fit<offset_words>, binary_buddy<>, fibonacci_buddy<offset_words>,
                             size_map<class_map<24, 200>>, size_map<powers_of_two<>, offset_words>>;
TYPED_TEST_SUITE(classic_misuse, heaps);

TYPED_TEST(classic_misuse, is_reported_once_with_its_kind) {
    test::recorded_misuses seen;
    checked<TypeParam> heap;
    auto* const block = static_cast<char*>(heap.allocate(24, 8));
    heap.deallocate(block, 24, 8);
    heap.deallocate(block, 24, 8);
    EXPECT_EQ(seen.take(), std::vector{kind::double_free});

    auto* const overrun = static_cast<char*>(heap.allocate(40, 4));
    detail::unpoison(overrun + 40, 1);
    overrun[40] ^= 1;
    heap.deallocate(overrun, 40, 4);
    EXPECT_EQ(seen.take(), std::vector{kind::overrun});

    heap.deallocate(heap.allocate(5000, 8), 4000, 8);
    EXPECT_EQ(seen.take(), std::vector{kind::wrong_size});

    char elsewhere = 0;
    heap.deallocate(&elsewhere, 1, 1);
    EXPECT_EQ(seen.take(), std::vector{kind::foreign_pointer});
}

}  // namespace
}  // namespace millpond::classic
