// SPDX-License-Identifier: BSL-1.0
// guides: the standard's requirements on arguments, for the deduction guides of associative and pooled containers.
//
//   It over std::pair<int, text> ──▶ guide_key<It> int, guide_mapped<It> text, guide_pair<It> pair<const int, text>
//
// Compile-time only.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// True for types that qualify as an allocator.
template <class T>
concept is_allocator = requires(T& allocator) {
    typename T::value_type;
    allocator.allocate(std::size_t{1});
};

// A hash function is neither a number of buckets nor an allocator.
template <class H>
concept guide_hash = !std::integral<H> && !is_allocator<H>;

// The key and value types of an iterator over pairs.
template <class Pair>
using key_of = std::remove_const_t<typename Pair::first_type>;
template <class Pair>
using mapped_of = typename Pair::second_type;
template <class Pair>
using element_of = std::pair<const key_of<Pair>, mapped_of<Pair>>;

template <class It>
using guide_value = std::iter_value_t<It>;
template <class It>
using guide_key = key_of<guide_value<It>>;
template <class It>
using guide_mapped = mapped_of<guide_value<It>>;
template <class It>
using guide_pair = element_of<guide_value<It>>;

template <class R>
using guide_range_key = key_of<std::ranges::range_value_t<R>>;
template <class R>
using guide_range_mapped = mapped_of<std::ranges::range_value_t<R>>;
template <class R>
using guide_range_pair = element_of<std::ranges::range_value_t<R>>;

}  // namespace millpond::inline MILLPOND_ABI::detail
