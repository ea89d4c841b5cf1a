// SPDX-License-Identifier: BSL-1.0
// fibonacci_buddy: each size is the sum of the two before it; a block is cut into these two.
//
//   wanted 40 of 256:  │        160 free        │    64 given    │ 32 free │      32, 64, 96, 160, 256, 416 …
//
// Sizes are closer to one another than powers of two, so less is wasted in a block. The paper names it among the buddy
// systems and gives no figures for it. detail/buddy_heap.hpp describes the layout and our choices.
//
// allocate, deallocate: O(log bytes); deallocate needs only the address. Serves every alignment, those beyond the
// words' own with a larger block; null at the region's limit. Not thread-safe. Source: Grunwald, Zorn and Henderson
// 1993, section 2.1.
//
// Example:
//     millpond::classic::fibonacci_buddy<> heap;
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
using fibonacci_buddy = detail::buddy_heap<Words, Counts, Region, 2>;

}  // namespace millpond::inline MILLPOND_ABI::classic
