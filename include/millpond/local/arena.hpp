// SPDX-License-Identifier: BSL-1.0
// arena: monotonic over a region: it grows in place in one range of addresses, up to a hard limit.
//
//   │header│a│bb│c│dddd│▒▒▒▒▒▒▒▒▒▒▒▒·····························│ guard page │
//                 next ▲           ▲ committed, in steps    limit ▲
//
// Use it where monotonic is right and the size is not known: no chunk is left half empty, a block may be as large as
// the rest, a limit holds, and memory goes back to the system when less is in use. It costs a few system calls to make
// and to destroy: for many small ones take monotonic<>, whose chunks the process keeps. A write past the committed
// memory or past the limit ends the program, because the page behind is never accessible.
//
//     millpond::arena pool(limit_bytes);                        // rounded up to pages; 64 GiB if none is given
//     millpond::resource<millpond::arena> base(limit_bytes);    // the same as a std::pmr::memory_resource
//
// reset() and rewind() keep the memory of work that repeats itself: memory not used during the last four to eight of
// them goes back to the system (region gives the exact rule). release() gives back all at once.
// pool.source() is the region: limit_bytes(), held_bytes(), advise_huge(). allocate: O(1), and one or two system calls
// for each new step of 16 KiB to 1 MiB. There is no absorb. Not thread-safe.
//
// Example:
//     millpond::arena pool(std::size_t{8} << 20);
//     const auto start = pool.checkpoint();
//     static_cast<void>(pool.allocate(std::size_t{5} << 20, 64));
//     assert(pool.try_allocate(std::size_t{5} << 20, 64) == nullptr);  // over the limit: null, or std::bad_alloc
//     pool.rewind(start);
//     static_cast<void>(pool.allocate(std::size_t{5} << 20, 64));
#pragma once

#include "../block/region.hpp"
#include "../core/abi.hpp"
#include "monotonic.hpp"

namespace millpond::inline MILLPOND_ABI {

using arena = monotonic<region>;

}  // namespace millpond::inline MILLPOND_ABI
