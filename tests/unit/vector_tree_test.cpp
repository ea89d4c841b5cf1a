// SPDX-License-Identifier: BSL-1.0
// vector_tree_test: the interface of a standard sequence, iterators through every change, unequal allocators, elements
// with memory of their own, and iterators of several threads at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <memory>
#include <memory_resource>
#include <millpond/container/vector_tree.hpp>
#include <numeric>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/tracked.hpp"

namespace millpond {
namespace {

using numbers = vector_tree<int>;
static_assert(std::random_access_iterator<numbers::iterator>);
static_assert(std::random_access_iterator<numbers::const_iterator>);
static_assert(std::convertible_to<numbers::iterator, numbers::const_iterator>);
static_assert(!std::convertible_to<numbers::const_iterator, numbers::iterator>);
static_assert(std::ranges::random_access_range<const pooled_vector_tree<std::string>>);
static_assert(std::ranges::common_range<numbers> && std::ranges::sized_range<numbers>);
static_assert(std::is_nothrow_move_constructible_v<numbers> && std::is_nothrow_swappable_v<numbers>);
static_assert(std::is_nothrow_default_constructible_v<numbers>);
static_assert(sizeof(numbers) == 5 * sizeof(void*));

numbers counted_to(int end) {
    numbers made;
    made.append_range(std::views::iota(0, end));
    return made;
}

TEST(vector_tree, is_made_from_everything_a_vector_is_made_from) {
    EXPECT_TRUE(numbers().empty());
    EXPECT_EQ(numbers(3), (numbers{0, 0, 0}));
    EXPECT_EQ(numbers(3, 7), (numbers{7, 7, 7}));
    const std::list<int> list{1, 2, 3};
    EXPECT_EQ(numbers(list.begin(), list.end()), (numbers{1, 2, 3}));
    std::istringstream words("4 5 6");
    EXPECT_EQ(numbers(std::istream_iterator<int>(words), std::istream_iterator<int>()), (numbers{4, 5, 6}));
    const vector_tree deduced(list.begin(), list.end());
    static_assert(std::is_same_v<decltype(deduced), const numbers>);
    const vector_tree listed{1.5, 2.5};
    static_assert(std::is_same_v<decltype(listed), const vector_tree<double>>);
#if defined(__cpp_lib_containers_ranges)
    const vector_tree ranged(std::from_range, list);
    static_assert(std::is_same_v<decltype(ranged), const numbers>);
#endif
    numbers assigned;
    assigned = {1, 2};
    assigned.assign(2, 9);
    EXPECT_EQ(assigned, (numbers{9, 9}));
    assigned.assign(list.begin(), list.end());
    EXPECT_EQ(assigned, (numbers{1, 2, 3}));
    assigned.assign({4});
    EXPECT_EQ(assigned, (numbers{4}));
}

TEST(vector_tree, copies_are_equal_and_moves_leave_nothing) {
    const numbers thousand = counted_to(1000);
    numbers copy = thousand;
    EXPECT_EQ(copy, thousand);
    copy[500] = -1;
    EXPECT_NE(copy, thousand);
    EXPECT_LT(copy, thousand);
    EXPECT_GT(thousand, copy);
    numbers moved = std::move(copy);
    EXPECT_TRUE(copy.empty());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(moved[500], -1);
    EXPECT_EQ(moved.nth(999) + 1, moved.end()) << "the end is the new owner's";
    copy = thousand;
    EXPECT_EQ(copy, thousand);
    const numbers& same = copy;
    copy = same;
    EXPECT_EQ(copy, thousand);
    copy = std::move(moved);
    EXPECT_EQ(copy[500], -1);
    EXPECT_TRUE(moved.empty());  // NOLINT(bugprone-use-after-move)
}

TEST(vector_tree, elements_are_reached_by_number) {
    numbers thousand = counted_to(1000);
    EXPECT_EQ(thousand.front(), 0);
    EXPECT_EQ(thousand.back(), 999);
    for (std::size_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(thousand[i], static_cast<int>(i));
        ASSERT_EQ(thousand.at(i), static_cast<int>(i));
        ASSERT_EQ(thousand.index_of(thousand.nth(i)), i);
        ASSERT_EQ(thousand.begin()[static_cast<std::ptrdiff_t>(i)], static_cast<int>(i));
        ASSERT_EQ(*(thousand.end() - static_cast<std::ptrdiff_t>(1000 - i)), static_cast<int>(i));
    }
    EXPECT_EQ(thousand.nth(1000), thousand.end());
    EXPECT_EQ(thousand.index_of(thousand.end()), 1000U);
    EXPECT_THROW((void)thousand.at(1000), std::out_of_range);
    EXPECT_THROW((void)thousand.split(1001), std::out_of_range);
    EXPECT_TRUE(std::ranges::equal(thousand | std::views::reverse, std::views::iota(0, 1000) | std::views::reverse));
    std::ranges::sort(thousand, std::greater<>());
    EXPECT_TRUE(std::is_sorted(thousand.rbegin(), thousand.rend()));
    EXPECT_EQ(std::ranges::lower_bound(thousand, 17, std::greater<>()) - thousand.begin(), 982);
    int sum = 0;
    thousand.for_each_span([&](std::span<int> part) { sum = std::accumulate(part.begin(), part.end(), sum); });
    EXPECT_EQ(sum, 499'500);
}

TEST(vector_tree, insertions_take_elements_of_the_tree_itself) {
    vector_tree<std::string> texts;
    for (int i = 0; i < 100; ++i) texts.push_back(std::string(20, 'a') + std::to_string(i));
    for (int i = 0; i < 200; ++i) {
        const std::string last = texts.back();
        texts.insert(texts.begin(), texts.back());
        ASSERT_EQ(texts.front(), last);
        texts.insert(texts.nth(5), 3, texts[7]);
        ASSERT_EQ(texts[5], texts[10]);
    }
    texts.resize(2000, texts[1]);
    EXPECT_EQ(texts.back(), texts[1]);
    texts.assign(5, texts[3]);
    EXPECT_EQ(texts.size(), 5U);
}

TEST(vector_tree, ranges_are_inserted_erased_and_resized) {
    numbers some{1, 5};
    EXPECT_EQ(*some.insert(some.nth(1), {2, 3, 4}), 2);
    EXPECT_EQ(some, (numbers{1, 2, 3, 4, 5}));
    EXPECT_EQ(some.insert(some.end(), 0, 7), some.end());
    some.prepend_range(std::vector{-1, 0});
    some.append_range(std::array{6, 7});
    EXPECT_EQ(some, (numbers{-1, 0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(*some.erase(some.nth(1), some.nth(3)), 2);
    EXPECT_EQ(some.erase(some.nth(6)), some.end());
    EXPECT_EQ(erase_if(some, [](int number) { return number % 2 == 0; }), 3U);
    EXPECT_EQ(some, (numbers{-1, 3, 5}));
    EXPECT_EQ(erase(some, 3), 1U);
    some.resize(4);
    EXPECT_EQ(some, (numbers{-1, 5, 0, 0}));
    some.resize(1);
    some.resize(3, 8);
    EXPECT_EQ(some, (numbers{-1, 8, 8}));
    some.clear();
    EXPECT_EQ(some.begin(), some.end());
}

TEST(vector_tree, iterators_stay_at_their_elements) {
    numbers thousand = counted_to(1000);
    std::vector<numbers::iterator> held;
    for (std::size_t i = 0; i < 1000; i += 10) held.push_back(thousand.nth(i));
    const numbers::const_iterator end = thousand.end();
    for (std::size_t i = 0; i < 1000; ++i) thousand.insert(thousand.nth(i * 7919 % thousand.size()), -1);
    erase_if(thousand, [](int number) { return number % 10 != 0 && number != -1; });
    for (std::size_t i = 0; i < held.size(); ++i) ASSERT_EQ(*held[i], static_cast<int>(i) * 10);
    EXPECT_EQ(end, thousand.end());

    numbers rest = thousand.split(held[50]);
    EXPECT_EQ(rest.index_of(held[50]), 0U);
    EXPECT_EQ(rest.end() - held[50], static_cast<std::ptrdiff_t>(rest.size()));
    numbers::iterator last = held[99];
    while (last != rest.end()) ++last;
    swap(rest, thousand);
    EXPECT_EQ(thousand.index_of(held[50]), 0U);
    thousand.append(std::move(rest));
    EXPECT_GT(held[0], held[99]);
    thousand.erase(held[3]);
    EXPECT_EQ(held[3], numbers::iterator());
    *held[4] = 4;
    EXPECT_EQ(thousand[thousand.index_of(held[4])], 4);
}

TEST(vector_tree, iterators_become_singular_when_their_tree_ends) {
    numbers::iterator held;
    numbers::iterator copy;
    {
        numbers some{1, 2, 3};
        held = some.nth(1);
        copy = held;
        held = held + 1;
        EXPECT_EQ(*copy, 2);
    }
    EXPECT_EQ(held, numbers::iterator());
    EXPECT_EQ(copy, held);
}

TEST(vector_tree, allocators_go_where_the_standard_says) {
    std::pmr::monotonic_buffer_resource first;
    std::pmr::monotonic_buffer_resource second;
    using texts = vector_tree<std::pmr::string, std::pmr::polymorphic_allocator<std::pmr::string>>;
    texts some({"one", "two", "three"}, &first);
    EXPECT_EQ(some[0].get_allocator().resource(), &first);
    texts copy(some, &second);
    EXPECT_EQ(copy[2].get_allocator().resource(), &second);
    const texts default_copy = some;
    EXPECT_EQ(default_copy.get_allocator().resource(), std::pmr::get_default_resource());
    const auto two = some.nth(1);
    texts moved(std::move(some), &first);
    EXPECT_EQ(moved.index_of(two), 1U);
    texts elsewhere(std::move(moved), &second);
    EXPECT_EQ(elsewhere[1], "two");
    EXPECT_EQ(elsewhere[1].get_allocator().resource(), &second);
    copy = std::move(elsewhere);
    EXPECT_EQ(copy.size(), 3U);
    copy = default_copy;
    EXPECT_EQ(copy.get_allocator().resource(), &second);
    texts third({"four"}, &first);
    copy.append(std::move(third));
    EXPECT_EQ(copy.back(), "four");
    EXPECT_EQ(copy.back().get_allocator().resource(), &second);
    EXPECT_TRUE(third.empty());  // NOLINT(bugprone-use-after-move)
}

TEST(vector_tree, a_pool_inside_moves_along) {
    pooled_vector_tree<int> some;
    for (int i = 0; i < 10'000; ++i) some.insert(some.nth(static_cast<std::size_t>(i) / 2), i);
    const auto held = some.nth(1234);
    const int number = *held;
    pooled_vector_tree<int> other;
    other = std::move(some);
    EXPECT_EQ(*held, number);
    pooled_vector_tree<int> rest = other.split(5000);
    EXPECT_EQ(rest.get_allocator(), other.get_allocator());
    rest.append(std::move(other));
    EXPECT_EQ(rest.index_of(held), 6234U);
    pooled_vector_tree<int> stranger{1, 2};
    rest.append(std::move(stranger));
    EXPECT_EQ(rest.back(), 2);
    const pooled_vector_tree<int> copy = rest;
    EXPECT_NE(copy.get_allocator(), rest.get_allocator());
    EXPECT_EQ(copy, rest);
}

TEST(vector_tree, large_and_immovable_elements_stay_where_they_are) {
    struct pinned {
        explicit pinned(int of) : number(of) {}
        pinned(const pinned&) = delete;
        pinned& operator=(const pinned&) = delete;
        int number;
    };
    vector_tree<pinned> some;
    pinned* const first = &*some.emplace(some.end(), 0);
    for (int i = 1; i < 1000; ++i) some.emplace(some.nth(static_cast<std::size_t>(i) / 3), i);
    vector_tree<pinned> rest = some.split(100);
    rest.append(std::move(some));
    EXPECT_EQ(first->number, 0);
    EXPECT_EQ(std::ranges::count_if(rest, [&](const pinned& one) { return &one == first; }), 1);
    vector_tree<std::array<char, 200>> large(500);
    large[250][0] = 'x';
    large.erase_at(0, 250);
    EXPECT_EQ(large.front()[0], 'x');
}

TEST(vector_tree, takes_elements_that_can_only_be_moved) {
    vector_tree<std::unique_ptr<int>> some;
    for (int i = 0; i < 500; ++i) some.insert(some.nth(static_cast<std::size_t>(i) / 2), std::make_unique<int>(i));
    const vector_tree<std::unique_ptr<int>> moved = std::move(some);
    EXPECT_EQ(*moved[0], 1);
    EXPECT_EQ(*moved.back(), 0);
}

TEST(vector_tree, a_failed_copy_inserts_nothing) {
    for (std::size_t failing = 0; failing < 40; ++failing) {
        vector_tree<test::copied_or_thrown> some(10, 1);
        const std::vector<test::copied_or_thrown> added(20, 2);
        test::element_books::fail_once_at(failing);
        bool threw = false;
        try {
            some.insert_range(some.nth(5), added);
            some.append_range(added);
        } catch (const test::element_failure&) {
            threw = true;
        }
        test::element_books::never_fail();
        EXPECT_TRUE(some.is_sound());
        EXPECT_EQ(threw, failing < 40);
        EXPECT_EQ(some.size(), failing < 20 ? 10U : 30U);
    }
    EXPECT_TRUE(test::element_books::alive.empty());
}

TEST(vector_tree_threads, readers_share_a_tree) {
    const numbers shared = counted_to(20'000);
    std::vector<std::thread> readers;
    std::array<long, 4> sums{};
    for (long& sum : sums)
        readers.emplace_back([&] {
            for (const int number : shared) sum += number;
            for (std::size_t i = 0; i < 20'000; i += 7) sum += *shared.nth(i) - static_cast<int>(i);
        });
    for (std::thread& reader : readers) reader.join();
    for (const long sum : sums) EXPECT_EQ(sum, 199'990'000);
}

}  // namespace
}  // namespace millpond
