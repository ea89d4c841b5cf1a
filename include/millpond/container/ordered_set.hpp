// SPDX-License-Identifier: BSL-1.0
// ordered_set, ordered_multiset: sorted sets in a B-tree, small and fast, that know ranks. EVERY CHANGE INVALIDATES ALL
// ITERATORS, POINTERS AND REFERENCES, except the iterator that it returns.
//
//            │ 12 │ 40 │              nth(14): 12 are in the first leaf, so it is number 2 of the second
//        ┌─────┘    └─────┐           rank(x): the elements of the leaves before x's, and its place there
//    │ a … │ ⇄ │ … │ ⇄ │ … │          leaves of 512 bytes, linked: a traversal reads arrays
//
// Use them for sets that are large or searched often: several times faster than std::set, and a quarter of its memory.
// If iterators or addresses must stay valid, use counted_set. If all insertions come first, sort a vector.
//
// The interface of std::set and its guarantees, except for validity. An insertion that throws has changed nothing. It
// has hints, transparent comparisons, allocators and their propagation, node handles, which hold the element apart from
// any container, and merge, which moves elements. An element of more than 64 bytes, or whose move may throw, has memory
// of its own.
//
// Searches, insert, erase, nth, rank, count_between, ranges by rank: O(log n). count: O(log n), for any number of equal
// elements. A container made of sorted elements: O(n), and its leaves are full. ++ and --: O(1). erase of a range:
// O(log n + its elements). Memory: 9 to 13 bytes for an element of 8; empty leaves go back. pooled_ordered_set has a
// pool inside (suballocator).
// With MILLPOND_CHECKED, a call with an iterator that a change has invalidated, or of another container, ends the
// program. Not thread-safe; several threads may make constant calls. Ownership: the elements are the container's.
//
// Example:
//     millpond::ordered_set<int> scores{310, 120, 250, 470};
//     assert(*scores.nth(0) == 120 && scores.rank(310) == 2);  // two are below 310
//     auto next = scores.erase(scores.find(250));  // this iterator is valid
//     assert(*next == 310 && scores.count_between(100, 400) == 2);
#pragma once

#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

#include "../bind/suballocator.hpp"
#include "../core/abi.hpp"
#include "detail/associative.hpp"
#include "detail/ordered_core.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
class ordered_set
    : public detail::associative<ordered_set<Key, Compare, Allocator>,
                                 detail::ordered_core<detail::set_element<Key>, Allocator>, Compare, true> {
    using base = typename ordered_set::associative;

  public:
    using base::base;
    ordered_set() = default;
    // Repeated here because gcc 12 finds no inherited constructor when it deduces from a list in braces.
    ordered_set(std::initializer_list<Key> values, const Compare& compare = Compare(),
                const Allocator& allocator = Allocator())
        : base(values, compare, allocator) {}
    ordered_set& operator=(std::initializer_list<Key> values) {
        this->assign(values);
        return *this;
    }
};

template <std::input_iterator First, class Compare = std::less<std::iter_value_t<First>>,
          detail::is_allocator Allocator = std::allocator<std::iter_value_t<First>>>
    requires(!detail::is_allocator<Compare>)
ordered_set(First, First, Compare = Compare(), Allocator = Allocator())
    -> ordered_set<std::iter_value_t<First>, Compare, Allocator>;
template <std::input_iterator First, detail::is_allocator Allocator>
ordered_set(First, First, Allocator)
    -> ordered_set<std::iter_value_t<First>, std::less<std::iter_value_t<First>>, Allocator>;
template <class Key, class Compare = std::less<Key>, detail::is_allocator Allocator = std::allocator<Key>>
    requires(!detail::is_allocator<Compare>)
ordered_set(std::initializer_list<Key>, Compare = Compare(), Allocator = Allocator())
    -> ordered_set<Key, Compare, Allocator>;
template <class Key, detail::is_allocator Allocator>
ordered_set(std::initializer_list<Key>, Allocator) -> ordered_set<Key, std::less<Key>, Allocator>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range Range, class Compare = std::less<std::ranges::range_value_t<Range>>,
          detail::is_allocator Allocator = std::allocator<std::ranges::range_value_t<Range>>>
    requires(!detail::is_allocator<Compare>)
ordered_set(std::from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> ordered_set<std::ranges::range_value_t<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::is_allocator Allocator>
ordered_set(std::from_range_t, Range&&, Allocator)
    -> ordered_set<std::ranges::range_value_t<Range>, std::less<std::ranges::range_value_t<Range>>, Allocator>;
#endif

// With a pool inside, over an allocator.
template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
using pooled_ordered_set = ordered_set<Key, Compare, suballocator<Allocator>>;

template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
class ordered_multiset
    : public detail::associative<ordered_multiset<Key, Compare, Allocator>,
                                 detail::ordered_core<detail::set_element<Key>, Allocator>, Compare, false> {
    using base = typename ordered_multiset::associative;

  public:
    using base::base;
    ordered_multiset() = default;
    // Repeated here because gcc 12 finds no inherited constructor when it deduces from a list in braces.
    ordered_multiset(std::initializer_list<Key> values, const Compare& compare = Compare(),
                     const Allocator& allocator = Allocator())
        : base(values, compare, allocator) {}
    ordered_multiset& operator=(std::initializer_list<Key> values) {
        this->assign(values);
        return *this;
    }
};

template <std::input_iterator First, class Compare = std::less<std::iter_value_t<First>>,
          detail::is_allocator Allocator = std::allocator<std::iter_value_t<First>>>
    requires(!detail::is_allocator<Compare>)
ordered_multiset(First, First, Compare = Compare(), Allocator = Allocator())
    -> ordered_multiset<std::iter_value_t<First>, Compare, Allocator>;
template <std::input_iterator First, detail::is_allocator Allocator>
ordered_multiset(First, First, Allocator)
    -> ordered_multiset<std::iter_value_t<First>, std::less<std::iter_value_t<First>>, Allocator>;
template <class Key, class Compare = std::less<Key>, detail::is_allocator Allocator = std::allocator<Key>>
    requires(!detail::is_allocator<Compare>)
ordered_multiset(std::initializer_list<Key>, Compare = Compare(), Allocator = Allocator())
    -> ordered_multiset<Key, Compare, Allocator>;
template <class Key, detail::is_allocator Allocator>
ordered_multiset(std::initializer_list<Key>, Allocator) -> ordered_multiset<Key, std::less<Key>, Allocator>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range Range, class Compare = std::less<std::ranges::range_value_t<Range>>,
          detail::is_allocator Allocator = std::allocator<std::ranges::range_value_t<Range>>>
    requires(!detail::is_allocator<Compare>)
ordered_multiset(std::from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> ordered_multiset<std::ranges::range_value_t<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::is_allocator Allocator>
ordered_multiset(std::from_range_t, Range&&, Allocator)
    -> ordered_multiset<std::ranges::range_value_t<Range>, std::less<std::ranges::range_value_t<Range>>, Allocator>;
#endif

// With a pool inside, over an allocator.
template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
using pooled_ordered_multiset = ordered_multiset<Key, Compare, suballocator<Allocator>>;

}  // namespace millpond::inline MILLPOND_ABI
