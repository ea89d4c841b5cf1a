// SPDX-License-Identifier: BSL-1.0
// counted_map, counted_multimap: std::map and std::multimap that know ranks. Iterators, pointers and references stay
// valid until their element is erased.
//
//        ┌── e:5 ──┐            nth(3)->first = e: 3 keys come before it
//     ┌─ c:3 ─┐   f:1           rank(d) = 2, count_between(c, f) = 3, ranks(1, 4) = the elements of c, d, e
//    b:1     d:1                each with its value
//
// Use them in place of std::map if you also ask "which is the k-th, how many are smaller": an order book, events by
// time, places by score. Costs, memory, guarantees, checked mode and threads are those of counted_set.hpp; a node for
// two words is 48 bytes, as in std::map. If iterators may become invalid with each change, use ordered_map.
// pooled_counted_map has a pool inside. Ownership: the elements are the container's.
// Between unequal allocators, elements that can neither be copied nor moved without exceptions move one by one. If a
// value throws, its key is lost; then clear the container or handle that it was to leave.
//
// Example:
//     millpond::counted_map<std::string, int> stock{{"pear", 3}, {"apple", 5}, {"fig", 0}};
//     stock["plum"] += 2;
//     assert(stock.nth(1)->first == "fig" && stock.rank("pear") == 2);
//     stock.erase_ranks(0, 2);  // the first two
//     assert(stock.size() == 2 && stock.at("plum") == 2);
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
#include "detail/associative_map.hpp"
#include "detail/weight_tree.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
class counted_map
    : public detail::associative_map<counted_map<Key, Mapped, Compare, Allocator>,
                                     detail::weight_tree<detail::map_element<Key, Mapped>, Allocator>, Compare> {
    using base = typename counted_map::associative_map;

  public:
    using base::base;
    counted_map() = default;
    // Repeated here because gcc 12 finds no inherited constructor when it deduces from a list in braces.
    counted_map(std::initializer_list<std::pair<const Key, Mapped>> values, const Compare& compare = Compare(),
                const Allocator& allocator = Allocator())
        : base(values, compare, allocator) {}
    counted_map& operator=(std::initializer_list<std::pair<const Key, Mapped>> values) {
        this->assign(values);
        return *this;
    }
};

template <std::input_iterator First, class Compare = std::less<detail::guide_key<First>>,
          detail::is_allocator Allocator = std::allocator<detail::guide_pair<First>>>
    requires(!detail::is_allocator<Compare>)
counted_map(First, First, Compare = Compare(), Allocator = Allocator())
    -> counted_map<detail::guide_key<First>, detail::guide_mapped<First>, Compare, Allocator>;
template <std::input_iterator First, detail::is_allocator Allocator>
counted_map(First, First, Allocator) -> counted_map<detail::guide_key<First>, detail::guide_mapped<First>,
                                                    std::less<detail::guide_key<First>>, Allocator>;
template <class Key, class Mapped, class Compare = std::less<Key>,
          detail::is_allocator Allocator = std::allocator<std::pair<const Key, Mapped>>>
    requires(!detail::is_allocator<Compare>)
counted_map(std::initializer_list<std::pair<Key, Mapped>>, Compare = Compare(), Allocator = Allocator())
    -> counted_map<std::remove_const_t<Key>, Mapped, Compare, Allocator>;
template <class Key, class Mapped, detail::is_allocator Allocator>
counted_map(std::initializer_list<std::pair<Key, Mapped>>, Allocator)
    -> counted_map<std::remove_const_t<Key>, Mapped, std::less<std::remove_const_t<Key>>, Allocator>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range Range, class Compare = std::less<detail::guide_range_key<Range>>,
          detail::is_allocator Allocator = std::allocator<detail::guide_range_pair<Range>>>
    requires(!detail::is_allocator<Compare>)
counted_map(std::from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> counted_map<detail::guide_range_key<Range>, detail::guide_range_mapped<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::is_allocator Allocator>
counted_map(std::from_range_t, Range&&, Allocator)
    -> counted_map<detail::guide_range_key<Range>, detail::guide_range_mapped<Range>,
                   std::less<detail::guide_range_key<Range>>, Allocator>;
#endif

// With a pool inside, over an allocator.
template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
using pooled_counted_map = counted_map<Key, Mapped, Compare, suballocator<Allocator>>;

template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
class counted_multimap
    : public detail::associative<counted_multimap<Key, Mapped, Compare, Allocator>,
                                 detail::weight_tree<detail::map_element<Key, Mapped>, Allocator>, Compare, false> {
    using base = typename counted_multimap::associative;

  public:
    using mapped_type = Mapped;
    using base::base;
    counted_multimap() = default;
    // Repeated here because gcc 12 finds no inherited constructor when it deduces from a list in braces.
    counted_multimap(std::initializer_list<std::pair<const Key, Mapped>> values, const Compare& compare = Compare(),
                     const Allocator& allocator = Allocator())
        : base(values, compare, allocator) {}
    counted_multimap& operator=(std::initializer_list<std::pair<const Key, Mapped>> values) {
        this->assign(values);
        return *this;
    }
};

template <std::input_iterator First, class Compare = std::less<detail::guide_key<First>>,
          detail::is_allocator Allocator = std::allocator<detail::guide_pair<First>>>
    requires(!detail::is_allocator<Compare>)
counted_multimap(First, First, Compare = Compare(), Allocator = Allocator())
    -> counted_multimap<detail::guide_key<First>, detail::guide_mapped<First>, Compare, Allocator>;
template <std::input_iterator First, detail::is_allocator Allocator>
counted_multimap(First, First, Allocator) -> counted_multimap<detail::guide_key<First>, detail::guide_mapped<First>,
                                                              std::less<detail::guide_key<First>>, Allocator>;
template <class Key, class Mapped, class Compare = std::less<Key>,
          detail::is_allocator Allocator = std::allocator<std::pair<const Key, Mapped>>>
    requires(!detail::is_allocator<Compare>)
counted_multimap(std::initializer_list<std::pair<Key, Mapped>>, Compare = Compare(), Allocator = Allocator())
    -> counted_multimap<std::remove_const_t<Key>, Mapped, Compare, Allocator>;
template <class Key, class Mapped, detail::is_allocator Allocator>
counted_multimap(std::initializer_list<std::pair<Key, Mapped>>, Allocator)
    -> counted_multimap<std::remove_const_t<Key>, Mapped, std::less<std::remove_const_t<Key>>, Allocator>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range Range, class Compare = std::less<detail::guide_range_key<Range>>,
          detail::is_allocator Allocator = std::allocator<detail::guide_range_pair<Range>>>
    requires(!detail::is_allocator<Compare>)
counted_multimap(std::from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> counted_multimap<detail::guide_range_key<Range>, detail::guide_range_mapped<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::is_allocator Allocator>
counted_multimap(std::from_range_t, Range&&, Allocator)
    -> counted_multimap<detail::guide_range_key<Range>, detail::guide_range_mapped<Range>,
                        std::less<detail::guide_range_key<Range>>, Allocator>;
#endif

// With a pool inside, over an allocator.
template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
using pooled_counted_multimap = counted_multimap<Key, Mapped, Compare, suballocator<Allocator>>;

}  // namespace millpond::inline MILLPOND_ABI
