// SPDX-License-Identifier: BSL-1.0
// dyn_array_commit_test: an array's promises on memory: it is committed in steps, a refusal changes nothing, and
// unneeded memory is returned.
#include <gtest/gtest.h>

#include <limits>
#include <millpond/container.hpp>
#include <new>
#include <vector>

#include "support/array_memory.hpp"
#include "support/tracked.hpp"

namespace millpond {
namespace {

using test::array;
using test::fake_pages;
using test::fill_up;
using test::kib;
using test::mib;
using test::page_call;
using dyn_array_commit = test::array_memory;

TEST_F(dyn_array_commit, refused_memory_is_an_error_that_changes_nothing) {
    array<int> numbers(mib);
    fill_up(numbers, numbers.capacity());
    const std::size_t size = numbers.size();
    fake_pages::set.charge_limit = fake_pages::charged_bytes;
    EXPECT_THROW(numbers.push_back(1), std::bad_alloc);
    EXPECT_EQ(numbers.try_push_back(1), nullptr);
    EXPECT_THROW(numbers.reserve(size + 1), std::bad_alloc);
    EXPECT_THROW(numbers.resize(size + 1), std::bad_alloc);
    EXPECT_THROW(numbers.append_range(array<int>(numbers)), std::bad_alloc);
    EXPECT_EQ(numbers.size(), size);
    EXPECT_EQ(numbers.capacity(), size);
    fake_pages::set.charge_limit = fake_pages::never;
    numbers.push_back(1);
    EXPECT_EQ(numbers.back(), 1);
}

TEST_F(dyn_array_commit, memory_is_refused_before_any_element_changes) {
    array<test::copied> some(mib);
    fill_up(some, some.capacity() - 10);  // room for some of what is refused
    const std::vector<test::copied> more(some.capacity() + 1, test::copied(-5));
    fake_pages::set.charge_limit = fake_pages::charged_bytes;
    test::element_books::fail_once_at(test::element_books::never);  // counts from 0 on
    EXPECT_THROW(some.resize(some.size() + more.size()), std::bad_alloc);
    EXPECT_THROW(some.append_range(more), std::bad_alloc);
    EXPECT_THROW(some.assign_range(more), std::bad_alloc);
    EXPECT_EQ(test::element_books::operations, 0U);
    EXPECT_EQ(some.front().value(), 0);
    fake_pages::set.charge_limit = fake_pages::never;
}

TEST_F(dyn_array_commit, grows_to_the_last_available_page) {
    fake_pages::set.charge_limit = 41 * fake_pages::size();
    array<int> numbers(mib);
    EXPECT_THROW(fill_up(numbers, mib), std::bad_alloc);
    EXPECT_EQ(numbers.size(), 41 * fake_pages::size() / sizeof(int));
    EXPECT_EQ(fake_pages::charged_bytes, 41 * fake_pages::size());
}

TEST_F(dyn_array_commit, reserved_memory_cannot_be_refused) {
    array<int> numbers(mib);
    numbers.reserve(300'000);
    EXPECT_GE(numbers.capacity(), 300'000U);
    fake_pages::set.charge_limit = fake_pages::charged_bytes;
    fill_up(numbers, numbers.capacity());
    EXPECT_THROW(numbers.push_back(1), std::bad_alloc);
}

TEST_F(dyn_array_commit, reserved_memory_comes_when_it_is_written) {
    array<int> numbers(mib);
    const std::size_t before = fake_pages::count(page_call::populate);
    numbers.reserve(mib);
    EXPECT_EQ(fake_pages::count(page_call::populate), before);
    fill_up(numbers, mib);
    const std::size_t largest_steps = mib * sizeof(int) / (64 * kib);
    EXPECT_GE(fake_pages::count(page_call::populate), largest_steps);
    EXPECT_LT(fake_pages::count(page_call::populate), before + largest_steps + 8);
}

TEST_F(dyn_array_commit, an_array_refused_at_construction_grows_later) {
    fake_pages::set.charge_limit = 0;
    array<int> numbers(mib);
    EXPECT_EQ(numbers.max_size(), mib);
    EXPECT_EQ(numbers.capacity(), 0U);
    EXPECT_THROW(numbers.push_back(1), std::bad_alloc);
    fake_pages::set.charge_limit = fake_pages::never;
    numbers.push_back(1);
}

TEST_F(dyn_array_commit, steps_double_up_to_the_largest) {
    const std::size_t page = fake_pages::size();
    if (page > 4 * kib) GTEST_SKIP() << "steps double up to 16 KiB: with larger pages they hardly do";
    array<char> bytes(mib, {.first = 0, .step = 4 * page, .ahead = 4 * page});
    EXPECT_EQ(fake_pages::charged_bytes, 0U);
    std::size_t populated = 0;
    for (const std::size_t step : {page, page, 2 * page, 4 * page, 4 * page, 4 * page}) {
        ASSERT_EQ(fake_pages::count(page_call::populate), populated++);
        for (std::size_t i = 0; i < step; ++i) bytes.push_back('x');
    }
    EXPECT_EQ(fake_pages::count(page_call::populate), populated);
    EXPECT_LE(fake_pages::charged_bytes, 2 * bytes.size());
}

TEST_F(dyn_array_commit, charge_exceeds_memory_by_at_most_a_step) {
    array<char> bytes(16 * mib, {.first = 64 * kib, .step = 64 * kib, .ahead = mib});
    while (bytes.size() < 9 * mib) {
        bytes.push_back('x');
        ASSERT_LE(fake_pages::charged_bytes, bytes.size() + 3 * mib + 64 * kib);
    }
    EXPECT_LE(fake_pages::count(page_call::commit), 14U);
}

TEST_F(dyn_array_commit, senseless_steps_are_made_sensible) {
    const std::size_t huge = std::numeric_limits<std::size_t>::max();
    for (const commit_steps steps : {commit_steps{huge, huge, huge}, commit_steps{1, 1, 1}, commit_steps{0, 0, 0}}) {
        array<int> numbers(100'000, steps);
        fill_up(numbers, 100'000);
        EXPECT_LE(fake_pages::charged_bytes, 100'000 * sizeof(int) + fake_pages::size());
        EXPECT_EQ(array<int>(numbers), numbers);
    }
}

TEST_F(dyn_array_commit, shrinking_gives_memory_back_and_clearing_keeps_it) {
    array<int> numbers(mib);
    fill_up(numbers, 500'000);
    const std::size_t full = fake_pages::charged_bytes;
    numbers.clear();
    EXPECT_EQ(fake_pages::charged_bytes, full);
    fill_up(numbers, 500'000);
    EXPECT_EQ(fake_pages::charged_bytes, full);
    numbers.resize(10);
    numbers.shrink_to_fit();
    EXPECT_EQ(fake_pages::charged_bytes, fake_pages::size());
    EXPECT_EQ(numbers.capacity(), fake_pages::size() / sizeof(int));
    EXPECT_EQ(numbers[9], 9);
    fill_up(numbers, 500'000);
    for (int i = 0; i < 500'000; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
    numbers.clear();
    numbers.shrink_to_fit();
    EXPECT_EQ(fake_pages::charged_bytes, 0U);
    numbers.push_back(1);
}

TEST_F(dyn_array_commit, memory_that_the_system_does_not_take_back_stays_usable) {
    array<int> numbers(mib);
    fill_up(numbers, 300'000);
    const std::size_t full = fake_pages::charged_bytes;
    numbers.resize(5);
    fake_pages::set.fail_at = fake_pages::fallible_calls;
    numbers.shrink_to_fit();
    fake_pages::set.fail_at = fake_pages::never;
    EXPECT_EQ(fake_pages::charged_bytes, full);
    EXPECT_EQ(numbers[4], 4);
    fill_up(numbers, 300'000);
    EXPECT_EQ(numbers.back(), 299'999);
}

TEST_F(dyn_array_commit, huge_pages_come_in_whole_ones) {
    for (const bool from_the_start : {true, false}) {
        const std::size_t before = fake_pages::count(page_call::populate);
        array<int> numbers(4 * mib, {.first = 0, .huge_pages = from_the_start});
        EXPECT_TRUE(from_the_start || numbers.advise_huge(true));
        EXPECT_EQ(fake_pages::count(page_call::populate), before);
        numbers.push_back(1);
        EXPECT_TRUE(detail::is_aligned(numbers.data() + numbers.capacity(), 2 * mib));
        EXPECT_TRUE(!from_the_start || detail::is_aligned(numbers.data(), 2 * mib));
        fill_up(numbers, 4 * mib);
        EXPECT_LE(fake_pages::count(page_call::populate), before + 9);
        EXPECT_TRUE(numbers.advise_huge(false));
        EXPECT_EQ(array<int>(numbers), numbers);
    }
}

TEST_F(dyn_array_commit, pages_may_be_larger) {
    fake_pages::set.page_bytes = 64 * kib;
    fake_pages::set.granularity_bytes = 64 * kib;
    array<int> numbers(mib);
    fill_up(numbers, mib);
    EXPECT_EQ(fake_pages::charged_bytes, mib * sizeof(int));
    numbers.resize(1);
    numbers.shrink_to_fit();
    EXPECT_EQ(fake_pages::charged_bytes, 64 * kib);
}

}  // namespace
}  // namespace millpond
