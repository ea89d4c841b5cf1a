// SPDX-License-Identifier: BSL-1.0
// binary_buddy: powers of two; a block is cut in halves, and two free halves become one again.
//
//   wanted 40 of 256:  │  64 given  │  64 free  │      128 free      │   given back: │       256 free       │
//
// The document names it among the buddy systems and has no figures of it. The layout and what was chosen are in
// detail/buddy_heap.hpp: one tag of a word, a heap that doubles.
//
// allocate, deallocate: O(log bytes), by address alone. Every alignment is served, those beyond the words' own by a
// larger block; null where the region's limit is reached: the heap doubles, so half of the limit may be all there is.
// Not thread-safe. Source: Grunwald, Zorn and Henderson 1993, section 2.1.
//
// Example:
//     millpond::classic::binary_buddy<> heap;
//     void* block = heap.allocate(24, 8);
//     heap.deallocate(block);
#pragma once

#include "../block/region.hpp"
#include "../core/abi.hpp"
#include "detail/buddy_heap.hpp"
#include "operation_counts.hpp"
#include "words.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

// Counts: operation_counts, or `uncounted`. Region: a basic_region.
template <class Words = pointer_words, class Counts = uncounted, class Region = region>
using binary_buddy = detail::buddy_heap<Words, Counts, Region, 1>;

}  // namespace millpond::inline MILLPOND_ABI::classic
