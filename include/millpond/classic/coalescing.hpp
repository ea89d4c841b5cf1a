// SPDX-License-Identifier: BSL-1.0
// coalescing: the moment when freed neighbours become one block, in the classic allocators with a tag at each end.
//
//   at_once    in each deallocate, in constant time: the tags of both neighbours say whether they are free
//   deferred   all at once, when a search has failed and a quarter of the heap was freed since the last time
//   never      a block that was cut stays cut
//
// The paper concludes that coalescing costs time and locality (section 5). This parameter turns it off, or defers it,
// and leaves the rest of an allocator as it is. Deferred coalescing is not in the paper.
#pragma once

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

enum class coalescing { at_once, deferred, never };

}  // namespace millpond::inline MILLPOND_ABI::classic
