// SPDX-License-Identifier: BSL-1.0
// guides: what the deduction guides of pooled containers ask of their arguments, as the standard says it.
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

template <class A>
concept guide_allocator = requires(A& allocator) {
    typename A::value_type;
    allocator.allocate(std::size_t{});
};

template <class It>
concept guide_iterator = std::input_iterator<It>;

// A hash function is neither a number of buckets nor an allocator.
template <class H>
concept guide_hash = !std::integral<H> && !guide_allocator<H>;

template <class It>
using guide_value = typename std::iterator_traits<It>::value_type;
template <class It>
using guide_key = std::remove_const_t<typename guide_value<It>::first_type>;
template <class It>
using guide_mapped = typename guide_value<It>::second_type;
template <class It>
using guide_pair = std::pair<const guide_key<It>, guide_mapped<It>>;

template <class R>
using guide_range_key = std::remove_const_t<typename std::ranges::range_value_t<R>::first_type>;
template <class R>
using guide_range_mapped = typename std::ranges::range_value_t<R>::second_type;
template <class R>
using guide_range_pair = std::pair<const guide_range_key<R>, guide_range_mapped<R>>;

}  // namespace millpond::inline MILLPOND_ABI::detail
