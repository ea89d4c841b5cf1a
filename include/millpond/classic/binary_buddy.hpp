// SPDX-License-Identifier: BSL-1.0
// binary_buddy: block sizes are powers of two; a block is cut in halves, and two free halves become one again.
//
//   wanted 40 of 256:  │  64 given  │  64 free  │      128 free      │   given back: │       256 free       │
//
// The paper names it among the buddy systems and gives no figures for it. detail/buddy_heap.hpp describes the layout
// and our choices: one tag of a word, a heap that doubles.
//
// allocate, deallocate: O(log bytes); deallocate needs only the address. Serves every alignment, those beyond the
// words' own with a larger block; null at the region's limit. The heap doubles, so perhaps only half of the limit is
// usable. Not thread-safe. Source: Grunwald, Zorn and Henderson 1993, section 2.1.
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
