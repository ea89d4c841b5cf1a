// SPDX-License-Identifier: BSL-1.0
// dyn_array_sanitizer_test: under AddressSanitizer exactly the bytes of live elements are accessible at any time.
#include <gtest/gtest.h>

#include <millpond/container.hpp>
#include <ranges>
#include <string>
#include <vector>

#include "support/fake_pages.hpp"
#include "support/tracked.hpp"

static_assert(millpond::detail::address_sanitizer, "build this test with -fsanitize=address");

namespace millpond {
namespace {

// Fails the test unless the elements are accessible and the committed memory behind them is not.
template <class T>
void expect_exact(const dyn_array<T>& array) {
    const auto* const begin = reinterpret_cast<const char*>(array.data());
    const std::size_t used = array.size() * sizeof(T);
    for (std::size_t i = 0; i < used; ++i) ASSERT_FALSE(__asan_address_is_poisoned(begin + i)) << i << " of " << used;
    const std::size_t behind = array.capacity() * sizeof(T);
    for (std::size_t i = used; i < behind; i += i < used + 100 ? 1 : 97) {
        ASSERT_TRUE(__asan_address_is_poisoned(begin + i)) << i << " behind " << used;
    }
}

struct three_bytes {
    char letters[3];
};
struct twelve_bytes {
    int numbers[3];
};

template <class T>
class dyn_array_sanitizer : public testing::Test {};
using elements = testing::Types<char, three_bytes, int, twelve_bytes, std::string>;
TYPED_TEST_SUITE(dyn_array_sanitizer, elements);

TYPED_TEST(dyn_array_sanitizer, exactly_the_elements_are_accessible) {
    using array = dyn_array<TypeParam>;
    array all(20'000);
    expect_exact(all);
    for (int i = 0; i < 40; ++i) all.emplace_back(), expect_exact(all);
    for (int i = 0; i < 20; ++i) all.pop_back(), expect_exact(all);
    for (const std::size_t size : {1u, 33u, 8u, 15'000u, 9u}) all.resize(size), expect_exact(all);
    all.shrink_to_fit();
    expect_exact(all);
    all.insert(all.begin() + 3, 5, TypeParam());
    expect_exact(all);
    all.insert(all.begin() + 3, TypeParam());
    expect_exact(all);
    all.erase(all.begin() + 1, all.begin() + 4);
    expect_exact(all);
    all.append_range(all);
    expect_exact(all);
    const array copy = all;
    expect_exact(copy);
    array taken = std::move(all);
    expect_exact(taken);
    taken.assign(3, TypeParam());
    expect_exact(taken);
    taken.reserve(20'000);
    expect_exact(taken);
    taken.clear();
    expect_exact(taken);
}

TEST(dyn_array_sanitizer_throwing, memory_of_unmade_elements_is_closed_again) {
    using element = test::tracked<true, true>;
    dyn_array<element> all(100);
    for (int i = 0; i < 5; ++i) all.emplace_back(i);
    for (std::size_t at = 0; at < 6; ++at) {
        test::element_books::fail_once_at(at);
        try {
            all.append_range(std::views::iota(0, 8));
        } catch (const test::element_failure&) {
            expect_exact(all);
        }
        test::element_books::fail_once_at(0);
        try {
            all.emplace_back(1);
        } catch (const test::element_failure&) {
            expect_exact(all);
        }
        test::element_books::never_fail();
    }
    all.emplace_back(1);
    expect_exact(all);
}

TEST(dyn_array_sanitizer_pages, memory_that_the_system_does_not_take_back_is_closed) {
    test::fake_pages::start();
    dyn_array<int, test::fake_pages> all(1 << 20);
    all.resize(300'000);
    all.resize(5);
    test::fake_pages::set.fail_at = test::fake_pages::fallible_calls;
    all.shrink_to_fit();
    test::fake_pages::set.fail_at = test::fake_pages::never;
    const int* const behind = all.data() + 200'000;
    EXPECT_TRUE(__asan_address_is_poisoned(behind));
    all.resize(300'000);
    EXPECT_FALSE(__asan_address_is_poisoned(behind));
}

// The memory that an array leaves belongs to the next array.
TEST(dyn_array_sanitizer_addresses, the_memory_of_an_array_is_open_when_it_is_gone) {
    for (int i = 0; i < 20; ++i) {
        dyn_array<char> all(1 << 20);
        all.resize(300'000);
        all.resize(10);
        all.shrink_to_fit();
        expect_exact(all);
    }
    std::vector<std::string> heap(10'000, std::string(100, 'x'));
    EXPECT_EQ(heap.back().size(), 100U);
}

}  // namespace
}  // namespace millpond
