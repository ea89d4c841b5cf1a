// SPDX-License-Identifier: BSL-1.0
// coalescing: when freed neighbours become one block, in the classic allocators with a tag at each end.
//
//   at_once    in each deallocate, in constant time: the tags of both neighbours say whether they are free
//   deferred   all at once, when a search has failed and a quarter of the heap was freed since the last time
//   never      a block that was cut stays cut
//
// The document concludes that to coalesce costs time and locality (section 5): this parameter takes it away from an
// allocator and leaves the rest as it is. Deferred coalescing is not in the document.
#pragma once

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

enum class coalescing { at_once, deferred, never };

}  // namespace millpond::inline MILLPOND_ABI::classic
