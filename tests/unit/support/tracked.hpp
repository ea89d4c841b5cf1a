// SPDX-License-Identifier: BSL-1.0
// tracked: elements for the tests of containers. They know their address, are counted, and fail when told to.
//
//   tracked<may_copy, may_throw_on_move>   value() │ books: alive, operations, the operation that throws
//
// An element that is copied byte by byte, used after its end, or destroyed twice fails the running test. Every
// constructor but that of a nothrow move, and every assignment likewise, is an operation that can be made to throw.
#pragma once

#include <gtest/gtest.h>

#include <compare>
#include <cstddef>
#include <limits>
#include <set>

namespace millpond::test {

struct element_failure {};

// The counts of all tracked elements of one test program.
struct element_books {
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    inline static std::set<const void*> alive;
    inline static std::size_t operations = 0;
    inline static std::size_t fail_at = never;

    // The operation with this number, from 0 on, throws element_failure, once.
    static void fail_once_at(std::size_t number) {
        operations = 0;
        fail_at = number;
    }
    static void never_fail() { fail_at = never; }

    static void operation() {
        if (operations++ == fail_at) throw element_failure();
    }
};

template <bool MayCopy, bool MayThrowOnMove>
class tracked {
  public:
    tracked() : tracked(0) {}
    tracked(int value) : value_(value) {  // NOLINT(google-explicit-constructor): as an int
        element_books::operation();
        begin();
    }
    tracked(const tracked& other)
        requires MayCopy
        : value_(other.value()) {
        element_books::operation();
        begin();
    }
    tracked(tracked&& other) noexcept(!MayThrowOnMove) : value_(other.value()) {
        if constexpr (MayThrowOnMove) element_books::operation();
        other.value_ = moved_from;
        begin();
    }
    tracked& operator=(const tracked& other)
        requires MayCopy
    {
        element_books::operation();
        expect_alive();
        value_ = other.value();
        return *this;
    }
    tracked& operator=(tracked&& other) noexcept(!MayThrowOnMove) {
        if constexpr (MayThrowOnMove) element_books::operation();
        expect_alive();
        EXPECT_NE(this, &other) << "an element was moved to itself";
        value_ = other.value();
        other.value_ = moved_from;
        return *this;
    }
    ~tracked() { EXPECT_EQ(element_books::alive.erase(this), 1U) << "an element that does not live was destroyed"; }

    [[nodiscard]] int value() const {
        expect_alive();
        return value_;
    }
    friend bool operator==(const tracked& a, const tracked& b) { return a.value() == b.value(); }
    friend auto operator<=>(const tracked& a, const tracked& b) { return a.value() <=> b.value(); }

    static constexpr int moved_from = -1;

  private:
    void begin() { EXPECT_TRUE(element_books::alive.insert(this).second) << "an element was made over a living one"; }
    void expect_alive() const {
        EXPECT_EQ(element_books::alive.count(this), 1U) << "an element was used out of its life";
    }

    int value_;
};

using copied = tracked<true, false>;
using copied_or_thrown = tracked<true, true>;
using moved_only = tracked<false, false>;
using moved_or_thrown = tracked<false, true>;

}  // namespace millpond::test
