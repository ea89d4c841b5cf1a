// SPDX-License-Identifier: BSL-1.0
// allocation: memory together with its size, for sources that give more than was requested.
//
//   requested   ├────────────────┤
//   given       ├────────────────────────┤  start, bytes
//
// The caller may use the bytes beyond the request, and may free the block with either size. A value; O(1).
//
// Example:
//     millpond::chunk_cache source;
//     const millpond::allocation chunk = source.try_allocate_at_least(5000, 16);
//     assert(chunk.bytes >= 5000);
//     source.deallocate(chunk.start, chunk.bytes, 16);
#pragma once

#include <cstddef>

#include "abi.hpp"

namespace millpond::inline MILLPOND_ABI {

struct allocation {
    void* start = nullptr;  // null: there was no memory, and bytes is meaningless
    std::size_t bytes = 0;
};

}  // namespace millpond::inline MILLPOND_ABI
