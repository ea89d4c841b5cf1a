// SPDX-License-Identifier: BSL-1.0
// allocation_result_test: allocate_at_least returns std::allocation_result if the standard library has it. Otherwise
// the test defines one: only our use of it is tested.
#include <gtest/gtest.h>

#include <memory>
#include <version>

#if !defined(__cpp_lib_allocate_at_least)
namespace std {
template <class Pointer, class SizeType = size_t>
struct allocation_result {
    Pointer ptr;
    SizeType count;
};
}  // namespace std
#define __cpp_lib_allocate_at_least 202302L
#endif

#include <millpond/bind/allocator.hpp>
#include <millpond/bind/suballocator.hpp>
#include <millpond/local/multipool.hpp>
#include <millpond/local/synchronized_multipool.hpp>

namespace millpond {
namespace {

template <class Allocator>
void expect_standard_result(Allocator allocator) {
    using value = typename Allocator::value_type;
    static_assert(
        std::is_same_v<decltype(allocator.allocate_at_least(3)), std::allocation_result<value*, std::size_t>>);
    for (const std::size_t n : {0, 1, 2, 3, 7, 100, 5000}) {
        const auto [objects, count] = allocator.allocate_at_least(n);
        EXPECT_GE(count, n);
        std::uninitialized_fill_n(objects, count, value{});
        allocator.deallocate(objects, (n + count) / 2);  // any number from n to count is right
    }
}

TEST(allocation_result, is_what_allocate_at_least_returns) {
    multipool<> pool;
    expect_standard_result(allocator<int, multipool<>>(&pool));
    expect_standard_result(allocator<char, multipool<>>(&pool));
    synchronized_multipool<> shared;
    expect_standard_result(allocator<double, synchronized_multipool<>>(&shared));
    expect_standard_result(suballocator<std::allocator<int>>());
    expect_standard_result(suballocator<allocator<int, multipool<>>>(&pool));
}

}  // namespace
}  // namespace millpond
