// SPDX-License-Identifier: BSL-1.0
// ordered_map, ordered_multimap: sorted maps in a B-tree, small and fast, that know ranks. EVERY CHANGE INVALIDATES ALL
// ITERATORS, POINTERS AND REFERENCES, except the iterator that it returns.
//
//            │ 12 │ 40 │              nth(14)->first: 12 are in the first leaf, so it is number 2 of the second
//        ┌─────┘    └─────┐
//    │ a … │ ⇄ │ … │ ⇄ │ … │          an element is a std::pair<const Key, Mapped>, and moves when others come or go
//
// Use them in place of std::map if you keep no iterator, pointer or reference across a change. Writing to a key's value
// is not such a change. Take care with `map[a] = map[b]`: if a key is new, the value that the other side refers to may
// move; insert first. If addresses must stay valid, use counted_map.
//
// Costs, memory, guarantees, checked mode and threads are those of ordered_set.hpp. pooled_ordered_map has a pool
// inside. Ownership: the elements are the container's.
// Between unequal allocators, elements that can neither be copied nor moved without exceptions move one by one. If a
// value throws, its key is lost; then clear the container or handle that it was to leave.
//
// Example:
//     millpond::ordered_map<std::string, int> stock{{"pear", 3}, {"apple", 5}, {"fig", 0}};
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
#include "detail/ordered_core.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
class ordered_map
    : public detail::associative_map<ordered_map<Key, Mapped, Compare, Allocator>,
                                     detail::ordered_core<detail::map_element<Key, Mapped>, Allocator>, Compare> {
    using base = typename ordered_map::associative_map;

  public:
    using base::base;
    ordered_map() = default;
    // Repeated here because gcc 12 finds no inherited constructor when it deduces from a list in braces.
    ordered_map(std::initializer_list<std::pair<const Key, Mapped>> values, const Compare& compare = Compare(),
                const Allocator& allocator = Allocator())
        : base(values, compare, allocator) {}
    ordered_map& operator=(std::initializer_list<std::pair<const Key, Mapped>> values) {
        this->assign(values);
        return *this;
    }
};

template <std::input_iterator First, class Compare = std::less<detail::guide_key<First>>,
          detail::is_allocator Allocator = std::allocator<detail::guide_pair<First>>>
    requires(!detail::is_allocator<Compare>)
ordered_map(First, First, Compare = Compare(), Allocator = Allocator())
    -> ordered_map<detail::guide_key<First>, detail::guide_mapped<First>, Compare, Allocator>;
template <std::input_iterator First, detail::is_allocator Allocator>
ordered_map(First, First, Allocator) -> ordered_map<detail::guide_key<First>, detail::guide_mapped<First>,
                                                    std::less<detail::guide_key<First>>, Allocator>;
template <class Key, class Mapped, class Compare = std::less<Key>,
          detail::is_allocator Allocator = std::allocator<std::pair<const Key, Mapped>>>
    requires(!detail::is_allocator<Compare>)
ordered_map(std::initializer_list<std::pair<Key, Mapped>>, Compare = Compare(), Allocator = Allocator())
    -> ordered_map<std::remove_const_t<Key>, Mapped, Compare, Allocator>;
template <class Key, class Mapped, detail::is_allocator Allocator>
ordered_map(std::initializer_list<std::pair<Key, Mapped>>, Allocator)
    -> ordered_map<std::remove_const_t<Key>, Mapped, std::less<std::remove_const_t<Key>>, Allocator>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range Range, class Compare = std::less<detail::guide_range_key<Range>>,
          detail::is_allocator Allocator = std::allocator<detail::guide_range_pair<Range>>>
    requires(!detail::is_allocator<Compare>)
ordered_map(std::from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> ordered_map<detail::guide_range_key<Range>, detail::guide_range_mapped<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::is_allocator Allocator>
ordered_map(std::from_range_t, Range&&, Allocator)
    -> ordered_map<detail::guide_range_key<Range>, detail::guide_range_mapped<Range>,
                   std::less<detail::guide_range_key<Range>>, Allocator>;
#endif

// With a pool inside, over an allocator.
template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
using pooled_ordered_map = ordered_map<Key, Mapped, Compare, suballocator<Allocator>>;

template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
class ordered_multimap
    : public detail::associative<ordered_multimap<Key, Mapped, Compare, Allocator>,
                                 detail::ordered_core<detail::map_element<Key, Mapped>, Allocator>, Compare, false> {
    using base = typename ordered_multimap::associative;

  public:
    using mapped_type = Mapped;
    using base::base;
    ordered_multimap() = default;
    // Repeated here because gcc 12 finds no inherited constructor when it deduces from a list in braces.
    ordered_multimap(std::initializer_list<std::pair<const Key, Mapped>> values, const Compare& compare = Compare(),
                     const Allocator& allocator = Allocator())
        : base(values, compare, allocator) {}
    ordered_multimap& operator=(std::initializer_list<std::pair<const Key, Mapped>> values) {
        this->assign(values);
        return *this;
    }
};

template <std::input_iterator First, class Compare = std::less<detail::guide_key<First>>,
          detail::is_allocator Allocator = std::allocator<detail::guide_pair<First>>>
    requires(!detail::is_allocator<Compare>)
ordered_multimap(First, First, Compare = Compare(), Allocator = Allocator())
    -> ordered_multimap<detail::guide_key<First>, detail::guide_mapped<First>, Compare, Allocator>;
template <std::input_iterator First, detail::is_allocator Allocator>
ordered_multimap(First, First, Allocator) -> ordered_multimap<detail::guide_key<First>, detail::guide_mapped<First>,
                                                              std::less<detail::guide_key<First>>, Allocator>;
template <class Key, class Mapped, class Compare = std::less<Key>,
          detail::is_allocator Allocator = std::allocator<std::pair<const Key, Mapped>>>
    requires(!detail::is_allocator<Compare>)
ordered_multimap(std::initializer_list<std::pair<Key, Mapped>>, Compare = Compare(), Allocator = Allocator())
    -> ordered_multimap<std::remove_const_t<Key>, Mapped, Compare, Allocator>;
template <class Key, class Mapped, detail::is_allocator Allocator>
ordered_multimap(std::initializer_list<std::pair<Key, Mapped>>, Allocator)
    -> ordered_multimap<std::remove_const_t<Key>, Mapped, std::less<std::remove_const_t<Key>>, Allocator>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range Range, class Compare = std::less<detail::guide_range_key<Range>>,
          detail::is_allocator Allocator = std::allocator<detail::guide_range_pair<Range>>>
    requires(!detail::is_allocator<Compare>)
ordered_multimap(std::from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> ordered_multimap<detail::guide_range_key<Range>, detail::guide_range_mapped<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::is_allocator Allocator>
ordered_multimap(std::from_range_t, Range&&, Allocator)
    -> ordered_multimap<detail::guide_range_key<Range>, detail::guide_range_mapped<Range>,
                        std::less<detail::guide_range_key<Range>>, Allocator>;
#endif

// With a pool inside, over an allocator.
template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
using pooled_ordered_multimap = ordered_multimap<Key, Mapped, Compare, suballocator<Allocator>>;

}  // namespace millpond::inline MILLPOND_ABI
