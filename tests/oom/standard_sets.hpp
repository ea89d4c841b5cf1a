// SPDX-License-Identifier: BSL-1.0
// standard_sets: what the sets of the standard library itself do when a copy of an element fails. Our containers with a
// pool inside stand on them and cannot keep more. (libc++ 22 breaks both promises, libstdc++ and older libc++ neither.)
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <set>
#include <unordered_set>

namespace millpond::test {

#if defined(__GLIBCXX__)
inline constexpr bool is_libstdcxx = true;
#else
inline constexpr bool is_libstdcxx = false;
#endif

// An element whose copies fail from the sixth on.
struct copied_five_times {
    struct failure {};
    static inline int alive = 0, copies = 0;

    int number;

    explicit copied_five_times(int n) : number(n) { ++alive; }
    copied_five_times(const copied_five_times& other) : number(other.number) {
        count();
        ++alive;
    }
    copied_five_times& operator=(const copied_five_times& other) {
        count();
        number = other.number;
        return *this;
    }
    ~copied_five_times() { --alive; }
    bool operator==(const copied_five_times&) const = default;
    auto operator<=>(const copied_five_times&) const = default;

    static void count() {
        if (++copies > 5) throw failure();
    }
    struct hash {
        std::size_t operator()(const copied_five_times& of) const { return static_cast<std::size_t>(of.number); }
    };
};

template <class Set>
Set ten_from(int first) {
    Set made;
    for (int i = 0; i < 10; ++i) made.emplace(first + i);
    return made;
}

// Returns whether a hashed set that could not be copied has lost the copies that were made.
inline bool hashed_sets_lose_copies() {
    using set = std::unordered_set<copied_five_times, copied_five_times::hash>;
    const set from = ten_from<set>(0);
    const int before = copied_five_times::alive;
    copied_five_times::copies = 0;
    try {
        const set made(from);
    } catch (const copied_five_times::failure&) {
    }
    return copied_five_times::alive != before;
}

// Returns whether a set to which another one could not be assigned is no longer in order.
inline bool assigned_sets_lose_their_order() {
    using set = std::set<copied_five_times>;
    const set from = ten_from<set>(0);
    set to = ten_from<set>(100);
    copied_five_times::copies = 0;
    try {
        to = from;
    } catch (const copied_five_times::failure&) {
    }
    return !std::ranges::is_sorted(to);
}

}  // namespace millpond::test
