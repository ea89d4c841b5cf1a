// SPDX-License-Identifier: BSL-1.0
// classic_heaps: the classic allocators as heaps of a malloc: blocks aligned to 16, pointers as words, one region.
#pragma once

#include "lab/mallocs/bump_heap.hpp"
#include "lab/mallocs/tagged_blocks.hpp"
#include "millpond/classic.hpp"
#include "millpond/core/class_map.hpp"
#include "millpond/core/exact_spacing.hpp"
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
// The paper's second source of classes, bounded waste. `millpond synthesize` makes the classes from measured sizes.
template <class Counts>
using size_map = classic::size_map<four_an_octave<4096, 16>, words, Counts, region>;
// The paper's sweep (section 4.4): from few classes, each of many sizes, to one for each size that malloc tells apart.
template <class Counts>
using size_map_3 = classic::size_map<class_map<64, 512, 4096>, words, Counts, region>;
template <class Counts>
using size_map_9 = classic::size_map<class_map<16, 32, 64, 128, 256, 512, 1024, 2048, 4096>, words, Counts, region>;
template <class Counts>
using size_map_256 = classic::size_map<exact_spacing<16, 4096>, words, Counts, region>;
// Not in the paper: every release at once, for a whole program.
template <class Counts>
using monotonic = bump_heap<words, Counts, region>;

// An allocator with one change, to measure the cost of: coalescing; the search beyond the first block of a list; tags
// (Table 6: eight bytes more for each object; and tags that are written and read).
template <class Counts>
using first_fit_uncoalesced = classic::first_fit<words, Counts, classic::coalescing::never, region>;
template <class Counts>
using gnu_gxx_uncoalesced = classic::gnu_gxx<words, Counts, classic::coalescing::never, classic::look_at::all, region>;
template <class Counts>
using gnu_gxx_heads = classic::gnu_gxx<words, Counts, at_once, classic::look_at::heads, region>;
template <class Counts>
using gnu_local_padded = classic::gnu_local<words, Counts, 8, region>;
template <class Counts>
using gnu_local_tagged = tagged_blocks<classic::gnu_local<words, Counts, 0, region>>;

}  // namespace millpond::mallocs::heaps
