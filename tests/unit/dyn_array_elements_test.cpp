// SPDX-License-Identifier: BSL-1.0
// dyn_array_elements_test: operations on elements agree with std::vector's, exhaustively for small arrays; an element
// that throws leaves the array unchanged, or at least valid.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <compare>
#include <iterator>
#include <memory>
#include <millpond/container.hpp>
#include <ranges>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/tracked.hpp"

namespace millpond {
namespace {

using test::copied;
using test::copied_or_thrown;
using test::element_books;
using test::element_failure;
using test::moved_only;
using test::moved_or_thrown;

using numbers = dyn_array<int>;
static_assert(std::ranges::contiguous_range<numbers> && std::ranges::sized_range<const numbers>);
static_assert(std::same_as<decltype(std::declval<const numbers&>().begin()), const int*>);
static_assert(std::three_way_comparable<numbers, std::strong_ordering>);
static_assert(!std::equality_comparable<dyn_array<element_failure>>);

constexpr std::size_t room = 100;

std::vector<int> counted_to(int last) {
    std::vector<int> all;
    for (int i = 0; i < last; ++i) all.push_back(i);
    return all;
}

numbers of(const std::vector<int>& values) {
    numbers made(room);
    made.append_range(values);
    return made;
}

std::vector<int> values_of(const auto& array) { return {array.begin(), array.end()}; }

TEST(dyn_array_elements, every_insertion_and_erasure_in_small_arrays_is_the_vector_s) {
    for (int size = 0; size < 7; ++size) {
        const std::vector<int> before = counted_to(size);
        for (int at = 0; at <= size; ++at) {
            for (int count = 0; count < 5; ++count) {
                const std::vector<int> more(static_cast<std::size_t>(count), 70);
                std::vector<int> expected = before;
                expected.insert(expected.begin() + at, more.begin(), more.end());
                numbers a = of(before);
                EXPECT_EQ(a.insert(a.begin() + at, more.size(), 70), a.begin() + at);
                numbers b = of(before);
                EXPECT_EQ(b.insert(b.begin() + at, more.begin(), more.end()), b.begin() + at);
                numbers c = of(before);
                EXPECT_EQ(c.insert_range(c.begin() + at, more | std::views::reverse), c.begin() + at);
                for (const numbers* each : {&a, &b, &c}) EXPECT_EQ(values_of(*each), expected);
            }
            for (int to = at; to <= size; ++to) {
                std::vector<int> expected = before;
                expected.erase(expected.begin() + at, expected.begin() + to);
                numbers a = of(before);
                EXPECT_EQ(a.erase(a.begin() + at, a.begin() + to), a.begin() + at);
                EXPECT_EQ(values_of(a), expected);
            }
            std::vector<int> expected = before;
            expected.insert(expected.begin() + at, 70);
            numbers a = of(before);
            EXPECT_EQ(a.emplace(a.begin() + at, 70), a.begin() + at);
            EXPECT_EQ(values_of(a), expected);
            EXPECT_EQ(a.erase(a.begin() + at), a.begin() + at);
            EXPECT_EQ(values_of(a), before);
        }
    }
}

TEST(dyn_array_elements, an_inserted_element_may_be_part_of_the_array) {
    for (int at = 0; at <= 4; ++at) {
        for (int which = 0; which < 4; ++which) {
            const std::vector<int> before = counted_to(4);
            std::vector<int> expected = before;
            expected.insert(expected.begin() + at, which);
            numbers a = of(before);
            a.insert(a.begin() + at, a[static_cast<std::size_t>(which)]);
            EXPECT_EQ(values_of(a), expected);
            expected.insert(expected.begin() + at, 3, which);
            a = of(values_of(a));
            a.insert(a.begin() + at, 3, a[static_cast<std::size_t>(which >= at ? which + 1 : which)]);
            EXPECT_EQ(values_of(a), expected);
        }
    }
    numbers doubled = of(counted_to(3));
    doubled.append_range(doubled);
    EXPECT_EQ(values_of(doubled), (std::vector<int>{0, 1, 2, 0, 1, 2}));
    doubled.insert_range(doubled.begin() + 1, doubled);
    EXPECT_EQ(values_of(doubled), (std::vector<int>{0, 0, 1, 2, 0, 1, 2, 1, 2, 0, 1, 2}));
    doubled.assign(2, doubled.back());
    EXPECT_EQ(values_of(doubled), (std::vector<int>{2, 2}));
    doubled.resize(4, doubled.front());
    EXPECT_EQ(values_of(doubled), (std::vector<int>{2, 2, 2, 2}));
}

TEST(dyn_array_elements, every_kind_of_range_can_be_appended_assigned_and_inserted) {
    const std::vector<int> expected = counted_to(6);
    for (const std::size_t held : {0U, 3U, 6U, 9U}) {
        const numbers before(of(std::vector<int>(held, 8)));
        const auto check = [&](auto&& make) {
            numbers assigned = before;
            assigned.assign_range(make());
            EXPECT_EQ(values_of(assigned), expected);
            numbers appended = before;
            appended.append_range(make());
            EXPECT_EQ(values_of(appended | std::views::drop(held)), expected);
            numbers inserted = before;
            inserted.insert_range(inserted.begin(), make());
            EXPECT_EQ(values_of(inserted | std::views::take(6)), expected);
            EXPECT_EQ(inserted.size(), held + 6);
        };
        check([] { return std::views::iota(0, 6); });
        // The difference type of this one is wider than that of pointers.
        check([] { return std::views::iota(0LL, 6LL); });
        check([&] { return std::span(expected); });
        check([&] { return std::views::transform(expected, [](int n) { return static_cast<short>(n); }); });
        std::istringstream text;
        check([&] {
            text = std::istringstream("0 1 2 3 4 5");
            return std::views::istream<int>(text);
        });
        numbers listed = before;
        listed = {0, 1, 2, 3, 4, 5};
        EXPECT_EQ(values_of(listed), expected);
        listed.assign({0, 1, 2});
        listed.insert(listed.end(), {3, 4, 5});
        EXPECT_EQ(values_of(listed), expected);
        listed.assign(5, 9);
        EXPECT_EQ(values_of(listed), std::vector<int>(5, 9));
    }
}

TEST(dyn_array_elements, long_ranges_are_appended_step_by_step) {
    numbers all(1'000'000);
    all.append_range(std::views::iota(0, 300'000));
    all.resize(400'000);
    all.resize(500'000, 7);
    for (int i = 0; i < 500'000; ++i) {
        ASSERT_EQ(all[static_cast<std::size_t>(i)], i < 300'000 ? i : i < 400'000 ? 0 : 7) << i;
    }
    all.insert(all.begin() + 1, 400'000, 5);
    EXPECT_EQ(all[400'000], 5);
    EXPECT_EQ(all[400'001], 1);
    EXPECT_EQ(all.back(), 7);
}

TEST(dyn_array_elements, resizing_makes_values_of_nothing_or_copies) {
    numbers a = of({1, 2, 3});
    a.resize(5);
    EXPECT_EQ(values_of(a), (std::vector<int>{1, 2, 3, 0, 0}));
    a.resize(2);
    a.resize(2);
    a.resize(4, 9);
    EXPECT_EQ(values_of(a), (std::vector<int>{1, 2, 9, 9}));
    a.resize(1, 4);
    EXPECT_EQ(values_of(a), std::vector<int>{1});
}

TEST(dyn_array_elements, access_is_the_vector_s) {
    numbers a = of({1, 2, 3});
    const numbers& constant = a;
    EXPECT_EQ(a.front() + constant.back() + a.back() + constant.front() + constant[1] + a[1], 12);
    EXPECT_EQ(&a.at(2), &constant.at(2));
    EXPECT_THROW(static_cast<void>(a.at(3)), std::out_of_range);
    EXPECT_THROW(static_cast<void>(constant.at(static_cast<std::size_t>(-1))), std::out_of_range);
    EXPECT_EQ(values_of(std::vector<int>(a.rbegin(), a.rend())), (std::vector<int>{3, 2, 1}));
    EXPECT_TRUE(std::equal(constant.crbegin(), constant.crend(), constant.rbegin(), constant.rend()));
    EXPECT_EQ(constant.cend() - constant.cbegin(), 3);
    EXPECT_EQ(constant.data(), a.begin());
    a.pop_back();
    EXPECT_EQ(*a.try_push_back(6), 6);
    EXPECT_EQ(a.emplace_back(7), 7);
    EXPECT_EQ(erase(a, 2), 1U);
    EXPECT_EQ(erase_if(a, [](int n) { return n > 6; }), 1U);
    EXPECT_EQ(values_of(a), (std::vector<int>{1, 6}));
    a.clear();
    EXPECT_TRUE(a.empty());
}

TEST(dyn_array_elements, arrays_compare_as_vectors_do) {
    const std::vector<std::vector<int>> all = {{}, {1}, {1, 2}, {1, 3}, {2}, {2, 0}};
    for (const auto& x : all) {
        for (const auto& y : all) {
            EXPECT_EQ(of(x) == of(y), x == y);
            EXPECT_EQ(of(x) <=> of(y), x <=> y);
        }
    }
    struct only_less {
        int n;
        bool operator<(const only_less& other) const { return n < other.n; }
    };
    dyn_array<only_less> a(room);
    dyn_array<only_less> b(room);
    EXPECT_TRUE(std::is_eq(a <=> b));
    a.push_back({1});
    b.push_back({1});
    EXPECT_TRUE(std::is_eq(a <=> b));
    a.push_back({1});
    b.push_back({2});
    EXPECT_TRUE(a < b && b > a);
}

template <class Element>
class dyn_array_of : public testing::Test {
  protected:
    void TearDown() override { EXPECT_TRUE(element_books::alive.empty()) << "elements outlived their array"; }
};
using elements = testing::Types<copied, copied_or_thrown, moved_only, moved_or_thrown>;
TYPED_TEST_SUITE(dyn_array_of, elements);

template <class T>
void expect_whole(const dyn_array<T>& array) {
    for (const T& element : array) EXPECT_GE(element.value(), T::moved_from);
    EXPECT_EQ(element_books::alive.size(), array.size());
}

// Lets `change` fail at its first, second, … operation on elements until it succeeds. The array is `before` each time;
// after a failure it is `before` again if `strong`, and valid otherwise.
template <class T, class Change>
void fail_at_each_operation(int size, bool strong, Change change) {
    for (std::size_t at = 0;; ++at) {
        ASSERT_LT(at, 1000U);
        dyn_array<T> array(room);
        for (int i = 0; i < size; ++i) array.emplace_back(i);
        T* const place = array.data();
        bool failed = false;
        element_books::fail_once_at(at);
        try {
            change(array);
        } catch (const element_failure&) {
            failed = true;
        }
        element_books::never_fail();
        expect_whole(array);
        if (!failed) return;
        if (!strong) continue;
        EXPECT_EQ(array.data(), place);
        ASSERT_EQ(array.size(), static_cast<std::size_t>(size)) << "operation " << at;
        for (int i = 0; i < size; ++i) EXPECT_EQ(array[static_cast<std::size_t>(i)].value(), i) << "operation " << at;
    }
}

TYPED_TEST(dyn_array_of, a_failed_append_changes_nothing) {
    using T = TypeParam;
    using array = dyn_array<T>;
    fail_at_each_operation<T>(3, true, [](array& a) { a.emplace_back(7); });
    fail_at_each_operation<T>(3, true, [](array& a) { a.push_back(T(7)); });
    fail_at_each_operation<T>(3, true, [](array& a) { EXPECT_NE(a.try_emplace_back(7), nullptr); });
    fail_at_each_operation<T>(3, true, [](array& a) { EXPECT_NE(a.try_push_back(T(7)), nullptr); });
    fail_at_each_operation<T>(3, true, [](array& a) { a.resize(6); });
    fail_at_each_operation<T>(3, true, [](array& a) { a.append_range(std::views::iota(0, 5)); });
    fail_at_each_operation<T>(3, true, [](array& a) { a.emplace(a.end(), 5); });
    fail_at_each_operation<T>(3, true, [](array& a) { a.insert_range(a.end(), std::views::iota(0, 5)); });
    std::istringstream text;
    fail_at_each_operation<T>(3, true, [&](array& a) {
        text = std::istringstream("1 2 3");
        a.append_range(std::views::istream<int>(text));
    });
    if constexpr (std::copyable<T>) {
        fail_at_each_operation<T>(3, true, [](array& a) { a.push_back(a.front()); });
        fail_at_each_operation<T>(3, true, [](array& a) { EXPECT_NE(a.try_push_back(a.front()), nullptr); });
        fail_at_each_operation<T>(3, true, [](array& a) { a.resize(6, a.front()); });
        fail_at_each_operation<T>(3, true, [](array& a) { a.append_range(a); });
        fail_at_each_operation<T>(3, true, [](array& a) { a.insert(a.end(), 4, a.front()); });
        fail_at_each_operation<T>(3, true, [](array& a) { a = array(a); });
        fail_at_each_operation<T>(3, true, [](array& a) {
            array smaller(1);
            smaller = a;
            EXPECT_EQ(smaller, a);
        });
    }
}

// A range that is read once is appended step by step, as memory comes.
TEST(dyn_array_elements, a_failure_in_a_later_step_undoes_the_earlier_ones) {
    constexpr int held = 3, appended = 50'000;
    std::string text;
    for (int i = 0; i < appended; ++i) text += "7 ";
    {
        dyn_array<copied_or_thrown> array(2 * appended);
        for (int i = 0; i < held; ++i) array.emplace_back(i);
        ASSERT_LT(array.capacity(), appended / 2U) << "one step is no later one";
        std::istringstream stream(text);
        element_books::fail_once_at(appended - 10);
        EXPECT_THROW(array.append_range(std::views::istream<int>(stream)), element_failure);
        element_books::never_fail();
        EXPECT_EQ(array.size(), std::size_t{held});
        EXPECT_EQ(element_books::alive.size(), std::size_t{held});
        EXPECT_EQ(array.back().value(), held - 1);
    }
    EXPECT_TRUE(element_books::alive.empty());
}

TYPED_TEST(dyn_array_of, a_failure_in_the_middle_leaves_the_array_whole) {
    using T = TypeParam;
    using array = dyn_array<T>;
    for (int at = 0; at < 4; ++at) {
        fail_at_each_operation<T>(4, false, [=](array& a) { a.emplace(a.begin() + at, 9); });
        fail_at_each_operation<T>(4, false, [=](array& a) { a.insert(a.begin() + at, T(9)); });
        fail_at_each_operation<T>(4, false, [=](array& a) { a.insert_range(a.begin() + at, std::views::iota(0, 3)); });
        fail_at_each_operation<T>(4, false, [=](array& a) { a.erase(a.begin() + at); });
        fail_at_each_operation<T>(4, false, [=](array& a) { a.erase(a.begin(), a.begin() + at); });
        fail_at_each_operation<T>(4, false,
                                  [=](array& a) { erase_if(a, [=](const T& e) { return e.value() == at; }); });
        if constexpr (std::copyable<T>) {
            fail_at_each_operation<T>(4, false, [=](array& a) { a.insert(a.begin() + at, 3, a.front()); });
            fail_at_each_operation<T>(4, false, [=](array& a) { a.insert(a.begin() + at, a.back()); });
            const auto size = static_cast<std::size_t>(2 * at);
            fail_at_each_operation<T>(4, false, [=](array& a) { a.assign(size, T(3)); });
            fail_at_each_operation<T>(4, false, [=](array& a) { a.assign_range(std::vector<T>(size)); });
        }
    }
}

TYPED_TEST(dyn_array_of, elements_end_when_they_are_erased_cleared_or_popped) {
    using T = TypeParam;
    {
        dyn_array<T> array(room);
        for (int i = 0; i < 10; ++i) array.emplace_back(i);
        array.pop_back();
        EXPECT_EQ(element_books::alive.size(), 9U);
        array.erase(array.begin() + 2, array.begin() + 5);
        EXPECT_EQ(element_books::alive.size(), 6U);
        array.shrink_to_fit();
        dyn_array<T> taken = std::move(array);
        taken.clear();
        EXPECT_TRUE(element_books::alive.empty());
        taken.emplace_back(1);
    }
    EXPECT_TRUE(element_books::alive.empty());
}

TEST(dyn_array_elements, owners_can_be_elements) {
    dyn_array<std::unique_ptr<std::string>> owners(room);
    for (int i = 0; i < 10; ++i) owners.push_back(std::make_unique<std::string>(std::to_string(i)));
    owners.insert(owners.begin(), std::make_unique<std::string>("first"));
    owners.erase(owners.begin() + 1);
    std::vector<std::unique_ptr<std::string>> more(3);
    owners.insert(owners.begin() + 2, std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    EXPECT_EQ(*owners.front(), "first");
    EXPECT_EQ(owners[3], nullptr);
    EXPECT_EQ(*owners.back(), "9");
    EXPECT_EQ(owners.size(), 13U);
}

}  // namespace
}  // namespace millpond
