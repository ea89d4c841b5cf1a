// SPDX-License-Identifier: BSL-1.0
// dyn_array_test: an array's promises on addresses: no element moves, limits are kept, elements are aligned.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <millpond/container.hpp>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "support/array_memory.hpp"

namespace millpond {
namespace {

using test::array;
using test::fake_pages;
using test::fill_up;
using test::kib;
using test::mib;
using test::page_call;
using dyn_array_memory = test::array_memory;

static_assert(std::is_nothrow_move_constructible_v<array<int>> && std::is_nothrow_move_assignable_v<array<int>>);
static_assert(std::is_nothrow_swappable_v<array<int>> && std::is_nothrow_default_constructible_v<array<int>>);
static_assert(!std::is_convertible_v<std::size_t, array<int>>);

// A tree whose elements are arrays of itself.
struct tree {
    int value = 0;
    array<tree> children;
};

TEST_F(dyn_array_memory, no_element_moves_while_it_grows) {
    array<int> numbers(10 * mib);
    numbers.push_back(0);
    int* const first = &numbers[0];
    for (int i = 1; i < 1'000'000; ++i) {
        numbers.push_back(i);
        ASSERT_EQ(&numbers.back(), first + i);
    }
    for (int i = 0; i < 1'000'000; ++i) ASSERT_EQ(first[i], i);
    EXPECT_EQ(fake_pages::count(page_call::reserve), 1U);
}

TEST_F(dyn_array_memory, an_element_of_its_own_can_be_pushed_back) {
    array<std::unique_ptr<array<int>>> arrays(10);
    array<int> numbers(100'000);
    numbers.push_back(7);
    for (int i = 0; i < 50'000; ++i) numbers.push_back(numbers.front());
    EXPECT_EQ(numbers.back(), 7);
    arrays.push_back(std::make_unique<array<int>>(numbers));
    arrays.push_back(std::move(arrays.front()));
    EXPECT_EQ(*arrays.back(), numbers);
}

TEST_F(dyn_array_memory, it_holds_as_many_as_asked_for_and_no_more) {
    for (const std::size_t most : {std::size_t{1}, std::size_t{2}, 1023 * kib / 4, 100'001 * kib / kib}) {
        array<int> numbers(most);
        EXPECT_EQ(numbers.max_size(), most);
        EXPECT_LE(numbers.capacity(), most);
        fill_up(numbers, most);
        EXPECT_THROW(numbers.push_back(1), std::length_error);
        EXPECT_EQ(numbers.try_push_back(1), nullptr);
        EXPECT_EQ(numbers.size(), most);
        EXPECT_EQ(numbers.capacity(), most);
        EXPECT_EQ(numbers.back(), static_cast<int>(most - 1));
        numbers.pop_back();
        EXPECT_NE(numbers.try_push_back(1), nullptr);
    }
}

TEST_F(dyn_array_memory, a_size_above_the_limit_is_refused_before_any_change) {
    array<int> numbers(1000);
    fill_up(numbers, 10);
    const std::size_t huge = std::numeric_limits<std::size_t>::max();
    for (const std::size_t much : {std::size_t{1001}, huge / 4, huge / 4 + 2, huge}) {
        EXPECT_THROW(numbers.reserve(much), std::length_error);
        EXPECT_FALSE(numbers.try_reserve(much));
        EXPECT_THROW(numbers.resize(much), std::length_error);
        EXPECT_THROW(numbers.resize(much, 3), std::length_error);
        EXPECT_THROW(numbers.assign(much, 3), std::length_error);
        EXPECT_THROW(numbers.insert(numbers.begin(), much, 3), std::length_error);
    }
    EXPECT_THROW(numbers.insert(numbers.begin(), 991, 3), std::length_error);
    EXPECT_EQ(numbers.size(), 10U);
    EXPECT_EQ(numbers.insert(numbers.begin(), 990, 3), numbers.begin());
    EXPECT_EQ(numbers.size(), 1000U);
}

TEST_F(dyn_array_memory, sizes_that_overflow_are_refused) {
    const std::size_t huge = std::numeric_limits<std::size_t>::max();
    for (const std::size_t much : {huge, huge / 4 + 1, detail::max_bytes / 4 + 1}) {
        EXPECT_THROW(array<int>{much}, std::length_error);
        EXPECT_EQ(array<int>(std::nothrow, much).max_size(), 0U);
    }
    EXPECT_EQ(fake_pages::count(page_call::reserve), 0U);
}

TEST_F(dyn_array_memory, a_reservation_that_does_not_fit_is_halved) {
    fake_pages::set.address_limit = 3 * mib;
    array<int> numbers(4 * mib);
    EXPECT_EQ(numbers.max_size(), 2 * mib / sizeof(int));
    fill_up(numbers, numbers.max_size());
    EXPECT_THROW(numbers.push_back(1), std::length_error);
    array<int> most(detail::max_bytes / sizeof(int));
    EXPECT_GE(most.max_size(), mib / sizeof(int));
}

TEST_F(dyn_array_memory, no_addresses_at_all_are_an_error) {
    fake_pages::set.address_limit = 0;
    EXPECT_THROW(array<int>{1}, std::bad_alloc);
    array<int> nothing(std::nothrow, 1);
    EXPECT_EQ(nothing.max_size(), 0U);
    EXPECT_EQ(nothing.try_emplace_back(1), nullptr);
    EXPECT_THROW(nothing.push_back(1), std::length_error);
}

TEST_F(dyn_array_memory, an_array_for_nothing_can_be_used_as_one) {
    for (array<int> nothing : {array<int>(0), array<int>(std::nothrow, 0)}) {
        EXPECT_TRUE(nothing.empty());
        EXPECT_EQ(nothing.capacity() + nothing.max_size(), 0U);
        EXPECT_EQ(nothing.begin(), nothing.end());
        nothing.clear();
        nothing.shrink_to_fit();
        nothing.reserve(0);
        nothing.resize(0);
        EXPECT_FALSE(nothing.advise_huge(true));
        EXPECT_EQ(nothing, array<int>(nothing));
        EXPECT_THROW(nothing.push_back(1), std::length_error);
        nothing = array<int>(5);
        nothing.push_back(1);
        EXPECT_EQ(nothing.size(), 1U);
    }
}

TEST_F(dyn_array_memory, without_a_size_the_first_element_reserves) {
    array<int> numbers;
    EXPECT_GT(numbers.max_size(), std::size_t{1} << 25);
    EXPECT_EQ(numbers.capacity(), 0U);
    EXPECT_EQ(numbers, array<int>(numbers));
    numbers.clear();
    numbers.shrink_to_fit();
    numbers.reserve(0);
    EXPECT_EQ(fake_pages::count(page_call::reserve), 0U);
    numbers.push_back(7);
    const int* const first = numbers.data();
    fill_up(numbers, 100'000);
    EXPECT_EQ(numbers.data(), first);
    EXPECT_EQ(numbers.front(), 7);
    EXPECT_EQ(fake_pages::count(page_call::reserve), 1U);
    array<int> copy;
    copy = numbers;
    EXPECT_EQ(copy, numbers);
    array<int> sized;
    sized.resize(10);
    EXPECT_EQ(sized.size(), 10U);
    array<int> inserted;
    inserted.insert(inserted.begin(), {1, 2, 3});
    EXPECT_EQ(inserted.back(), 3);
}

TEST_F(dyn_array_memory, without_a_size_refusals_change_nothing) {
    array<int> numbers;
    EXPECT_THROW(numbers.reserve(numbers.max_size() + 1), std::length_error);
    fake_pages::set.address_limit = 0;
    EXPECT_THROW(numbers.push_back(1), std::bad_alloc);
    EXPECT_EQ(numbers.try_push_back(1), nullptr);
    EXPECT_FALSE(numbers.try_reserve(1));
    EXPECT_TRUE(numbers.empty());
    fake_pages::set.address_limit = 3 * mib;
    numbers.push_back(1);
    EXPECT_EQ(numbers.back(), 1);
    EXPECT_LE(numbers.max_size(), 3 * mib / sizeof(int));
}

template <std::size_t Alignment>
void align_elements() {
    struct alignas(Alignment) wide {
        explicit wide(int n) : number(n) {}
        int number;
    };
    SCOPED_TRACE(Alignment);
    array<wide> all(100);
    EXPECT_EQ(all.max_size(), 100U);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(detail::is_aligned(&all.emplace_back(i), Alignment));
        ASSERT_EQ(&all.back(), all.data() + i);
    }
    EXPECT_EQ(all.try_emplace_back(1), nullptr);
    const array<wide> copy = all;
    EXPECT_TRUE(detail::is_aligned(copy.data(), Alignment));
    EXPECT_EQ(copy.back().number, 99);
    all.erase(all.begin() + 1, all.end());
    all.shrink_to_fit();
    EXPECT_EQ(all.front().number, 0);
    all.emplace_back(5);
    // The addresses in front of the first multiple may be all there are.
    fake_pages::set.address_limit = 3 * fake_pages::size();
    const array<wide> little(std::nothrow, 100);
    EXPECT_TRUE(detail::is_aligned(little.data(), Alignment));
    fake_pages::set.address_limit = fake_pages::never;
}

TEST_F(dyn_array_memory, elements_are_aligned_above_a_page_too) {
    for (const std::size_t page : {std::size_t{4}, std::size_t{64}}) {
        fake_pages::set.page_bytes = page * kib;
        fake_pages::set.granularity_bytes = page * kib;
        align_elements<16>();
        align_elements<256>();
        align_elements<4096>();
        align_elements<8192>();
        align_elements<64 * kib>();
    }
}

TEST_F(dyn_array_memory, elements_larger_than_a_step_come_one_by_one) {
    struct large {
        char bytes[200'000];
    };
    array<large> all(20);
    for (int i = 0; i < 20; ++i) all.emplace_back().bytes[199'999] = static_cast<char>(i);
    EXPECT_EQ(all[19].bytes[199'999], 19);
    EXPECT_THROW(all.emplace_back(), std::length_error);
}

TEST_F(dyn_array_memory, a_copy_reserves_its_own) {
    array<int> numbers(5000, {.first = 0});
    fill_up(numbers, 1000);
    array<int> copy = numbers;
    EXPECT_NE(copy.data(), numbers.data());
    EXPECT_EQ(copy, numbers);
    EXPECT_EQ(copy.max_size(), 5000U);
    fill_up(copy, 5000);
    EXPECT_EQ(numbers.size(), 1000U);
    fake_pages::set.address_limit = 0;
    EXPECT_THROW(array<int>{numbers}, std::bad_alloc);
}

TEST_F(dyn_array_memory, assignment_reuses_memory_if_it_is_enough) {
    array<int> large(1000);
    array<int> small(10);
    fill_up(large, 1000);
    fill_up(small, 10);
    array<int> to = large;
    const int* const place = to.data();
    to = small;
    EXPECT_EQ(to.data(), place);
    EXPECT_EQ(to, small);
    EXPECT_EQ(to.max_size(), 1000U);
    small = large;
    EXPECT_EQ(small, large);
    EXPECT_EQ(small.max_size(), 1000U);
    const array<int>& same = small;
    small = same;
    EXPECT_EQ(small, large);
}

TEST_F(dyn_array_memory, moves_and_swaps_keep_addresses) {
    array<int> numbers(1000);
    fill_up(numbers, 100);
    int* const first = numbers.data();
    array<int> taken = std::move(numbers);
    EXPECT_EQ(taken.data(), first);
    EXPECT_EQ(taken.size(), 100U);
    EXPECT_TRUE(numbers.empty());  // NOLINT(bugprone-use-after-move): it is specified
    EXPECT_EQ(numbers.max_size(), array<int>().max_size());
    numbers.push_back(1);
    EXPECT_NE(numbers.data(), first);
    EXPECT_EQ(numbers.size(), 1U);
    numbers = std::move(taken);
    EXPECT_EQ(numbers.data(), first);
    array<int>& same = numbers;
    numbers = std::move(same);
    EXPECT_EQ(numbers.data(), first);
    array<int> other(3);
    other.push_back(8);
    swap(numbers, other);
    EXPECT_EQ(other.data(), first);
    EXPECT_EQ(numbers.max_size(), 3U);
    EXPECT_EQ(numbers.front(), 8);
    fill_up(other, 1000);
    EXPECT_EQ(other.data(), first);
}

TEST_F(dyn_array_memory, elements_may_hold_arrays_of_their_own_type) {
    tree root{.value = 1, .children = array<tree>(4)};
    root.children.push_back(tree{.value = 2, .children = array<tree>(2)});
    root.children.front().children.emplace_back().value = 3;
    const tree copy = root;
    EXPECT_EQ(copy.children.front().children.front().value, 3);
    EXPECT_NE(&copy.children.front(), &root.children.front());
}

TEST(dyn_array, it_works_on_the_pages_of_the_system) {
    dyn_array<int> numbers(std::size_t{1} << 28);
    ASSERT_GE(numbers.max_size(), 2'000'000U);
    numbers.advise_huge(false);
    for (int i = 0; i < 2'000'000; ++i) numbers.push_back(i);
    numbers.resize(10);
    numbers.shrink_to_fit();
    for (int i = 10; i < 100'000; ++i) numbers.push_back(i);
    for (int i = 0; i < 100'000; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace millpond
