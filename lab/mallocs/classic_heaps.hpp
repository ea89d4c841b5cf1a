// SPDX-License-Identifier: BSL-1.0
// classic_heaps: the classic allocators as heaps of a malloc: blocks aligned to 16, pointers as words, one region.
#pragma once

#include "millpond/classic.hpp"
#include "preload/heap_region.hpp"

namespace millpond::mallocs::heaps {

using words = classic::pointer_words;
using region = preload::heap_region;
inline constexpr auto at_once = classic::coalescing::at_once;

template <class Counts>
using first_fit = classic::first_fit<words, Counts, at_once, region>;
template <class Counts>
using gnu_gxx = classic::gnu_gxx<words, Counts, at_once, classic::look_at::all, region>;
template <class Counts>
using bsd = classic::bsd<words, Counts, region>;
template <class Counts>
using gnu_local = classic::gnu_local<words, Counts, 0, region>;
template <class Counts>
using quick_fit = classic::quick_fit<words, Counts, region>;
template <class Counts>
using best_fit = classic::best_fit<words, Counts, at_once, region>;
template <class Counts>
using binary_buddy = classic::binary_buddy<words, Counts, region>;
template <class Counts>
using fibonacci_buddy = classic::fibonacci_buddy<words, Counts, region>;
// The document's second source of classes, bounded waste; `millpond synthesize` makes those that were measured.
template <class Counts>
using size_map = classic::size_map<four_an_octave<4096, 16>, words, Counts, region>;

}  // namespace millpond::mallocs::heaps
