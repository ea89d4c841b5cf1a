// SPDX-License-Identifier: BSL-1.0
// number_set: a std::set of random 64-bit numbers, whose nodes come from a contender.
//
// After the benchmark of the Counter Tree Library's suballocator (2012), chapter 4.4. insert_all: O(n log n).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "random_numbers.hpp"

namespace millpond::suites {

template <class C>
struct number_set_of {
    using type = std::set<std::uint64_t, std::less<>, typename C::template allocator<std::uint64_t>>;
};
// Specialisation for a contender that is a container itself.
template <class C>
    requires requires { typename C::number_set; }
struct number_set_of<C> {
    using type = typename C::number_set;
};
template <class C>
using number_set = typename number_set_of<C>::type;

inline std::uint64_t next_number(random_numbers& random) noexcept {
    return std::uint64_t{random.next()} << 32 | random.next();
}

template <class Set>
[[gnu::noinline]] void insert_all(Set& to, const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers) to.insert(number);
}

template <class Set>
[[gnu::noinline]] std::uint64_t sum_of(const Set& numbers) {
    std::uint64_t sum = 0;
    for (const std::uint64_t number : numbers) sum += number;
    return sum;
}

inline void shuffle(std::vector<std::uint64_t>& numbers, random_numbers& random) {
    for (std::size_t i = numbers.size(); i > 1; --i)
        std::swap(numbers[i - 1], numbers[random.below(static_cast<std::uint32_t>(i))]);
}

// Returns: the number of these numbers that are in the set.
template <class Set>
[[gnu::noinline]] std::uint64_t find_all(const Set& in, const std::vector<std::uint64_t>& numbers) {
    std::uint64_t found = 0;
    for (const std::uint64_t number : numbers) found += static_cast<std::uint64_t>(in.find(number) != in.end());
    return found;
}

template <class Set>
[[gnu::noinline]] void erase_all(Set& from, const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers) from.erase(number);
}

}  // namespace millpond::suites
