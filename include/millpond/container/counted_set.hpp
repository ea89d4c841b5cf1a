// SPDX-License-Identifier: BSL-1.0
// counted_set, counted_multiset: std::set and std::multiset that know ranks. Iterators, pointers and references stay
// valid until their element is erased.
//
//        ┌── e:5 ──┐            nth(3) = e: 3 elements come before it, by the sizes on the way down
//     ┌─ c:3 ─┐   f:1           rank(d) = 2, count_between(c, f) = 3, ranks(1, 4) = c, d, e
//    b:1     d:1
//
// Use them in place of std::set if you also ask "which is the k-th, how many are smaller": percentiles, places in a
// table of scores, pages of a list, a moving median. If iterators may become invalid with each change, ordered_set
// needs less memory and time. If you ask for ranks only after all changes, sort a vector.
//
// The interface of std::set with its guarantees: node handles, merge, hints, transparent comparisons, allocators and
// their propagation. An insertion that throws has changed nothing. In addition, merge and handles work between
// different allocators; each element then moves to a new node.
//
// Searches, insert, erase, nth, rank, count_between, ranges by rank: O(log n). count: O(log n), for any number of equal
// elements. A container made of sorted elements: O(n). ++ and --: O(1) amortised. It allocates only nodes.
// Memory: a node of 40 bytes for an element of 8, as in std::set. Where std::set keeps a colour, this keeps the size of
// the subtree, which also serves as the balance. A node is freed with its element. pooled_counted_set has a pool inside
// (suballocator): 40.3 bytes an element in total, nodes lie together, empty chunks go back at once.
// With MILLPOND_CHECKED, a call with an iterator of another container, or an erasure of the end, ends the program. Not
// thread-safe; several threads may make constant calls. Ownership: the elements are the container's.
//
// Example:
//     millpond::counted_set<int> scores{310, 120, 250, 470};
//     assert(*scores.nth(0) == 120 && scores.rank(310) == 2);  // two are below 310
//     assert(scores.count_between(100, 300) == 2);
//     for (int score : scores.ranks(2, 4)) assert(score >= 310);
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
#include "detail/weight_tree.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
class counted_set
    : public detail::associative<counted_set<Key, Compare, Allocator>,
                                 detail::weight_tree<detail::set_element<Key>, Allocator>, Compare, true> {
    using base = typename counted_set::associative;

  public:
    using base::base;
    counted_set() = default;
    // Repeated here because gcc 12 finds no inherited constructor when it deduces from a list in braces.
    counted_set(std::initializer_list<Key> values, const Compare& compare = Compare(),
                const Allocator& allocator = Allocator())
        : base(values, compare, allocator) {}
    counted_set& operator=(std::initializer_list<Key> values) {
        this->assign(values);
        return *this;
    }
};

template <std::input_iterator First, class Compare = std::less<std::iter_value_t<First>>,
          detail::is_allocator Allocator = std::allocator<std::iter_value_t<First>>>
    requires(!detail::is_allocator<Compare>)
counted_set(First, First, Compare = Compare(), Allocator = Allocator())
    -> counted_set<std::iter_value_t<First>, Compare, Allocator>;
template <std::input_iterator First, detail::is_allocator Allocator>
counted_set(First, First, Allocator)
    -> counted_set<std::iter_value_t<First>, std::less<std::iter_value_t<First>>, Allocator>;
template <class Key, class Compare = std::less<Key>, detail::is_allocator Allocator = std::allocator<Key>>
    requires(!detail::is_allocator<Compare>)
counted_set(std::initializer_list<Key>, Compare = Compare(), Allocator = Allocator())
    -> counted_set<Key, Compare, Allocator>;
template <class Key, detail::is_allocator Allocator>
counted_set(std::initializer_list<Key>, Allocator) -> counted_set<Key, std::less<Key>, Allocator>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range Range, class Compare = std::less<std::ranges::range_value_t<Range>>,
          detail::is_allocator Allocator = std::allocator<std::ranges::range_value_t<Range>>>
    requires(!detail::is_allocator<Compare>)
counted_set(std::from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> counted_set<std::ranges::range_value_t<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::is_allocator Allocator>
counted_set(std::from_range_t, Range&&, Allocator)
    -> counted_set<std::ranges::range_value_t<Range>, std::less<std::ranges::range_value_t<Range>>, Allocator>;
#endif

// With a pool inside, over an allocator.
template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
using pooled_counted_set = counted_set<Key, Compare, suballocator<Allocator>>;

template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
class counted_multiset
    : public detail::associative<counted_multiset<Key, Compare, Allocator>,
                                 detail::weight_tree<detail::set_element<Key>, Allocator>, Compare, false> {
    using base = typename counted_multiset::associative;

  public:
    using base::base;
    counted_multiset() = default;
    // Repeated here because gcc 12 finds no inherited constructor when it deduces from a list in braces.
    counted_multiset(std::initializer_list<Key> values, const Compare& compare = Compare(),
                     const Allocator& allocator = Allocator())
        : base(values, compare, allocator) {}
    counted_multiset& operator=(std::initializer_list<Key> values) {
        this->assign(values);
        return *this;
    }
};

template <std::input_iterator First, class Compare = std::less<std::iter_value_t<First>>,
          detail::is_allocator Allocator = std::allocator<std::iter_value_t<First>>>
    requires(!detail::is_allocator<Compare>)
counted_multiset(First, First, Compare = Compare(), Allocator = Allocator())
    -> counted_multiset<std::iter_value_t<First>, Compare, Allocator>;
template <std::input_iterator First, detail::is_allocator Allocator>
counted_multiset(First, First, Allocator)
    -> counted_multiset<std::iter_value_t<First>, std::less<std::iter_value_t<First>>, Allocator>;
template <class Key, class Compare = std::less<Key>, detail::is_allocator Allocator = std::allocator<Key>>
    requires(!detail::is_allocator<Compare>)
counted_multiset(std::initializer_list<Key>, Compare = Compare(), Allocator = Allocator())
    -> counted_multiset<Key, Compare, Allocator>;
template <class Key, detail::is_allocator Allocator>
counted_multiset(std::initializer_list<Key>, Allocator) -> counted_multiset<Key, std::less<Key>, Allocator>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range Range, class Compare = std::less<std::ranges::range_value_t<Range>>,
          detail::is_allocator Allocator = std::allocator<std::ranges::range_value_t<Range>>>
    requires(!detail::is_allocator<Compare>)
counted_multiset(std::from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> counted_multiset<std::ranges::range_value_t<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::is_allocator Allocator>
counted_multiset(std::from_range_t, Range&&, Allocator)
    -> counted_multiset<std::ranges::range_value_t<Range>, std::less<std::ranges::range_value_t<Range>>, Allocator>;
#endif

// With a pool inside, over an allocator.
template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
using pooled_counted_multiset = counted_multiset<Key, Compare, suballocator<Allocator>>;

}  // namespace millpond::inline MILLPOND_ABI
