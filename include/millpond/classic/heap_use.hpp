// SPDX-License-Identifier: BSL-1.0
// heap_use: a classic allocator's use of memory at one moment; the same record for all of them.
//
//   │heads│▒ block ▒│ free │▒ block ▒│▒ block ▒│ free │           │
//   └────────────────────── used ────────────────────┘
//   └────────────────────── held, charged to the process ─────────┘
//   └────────────────────── mapped: the addresses of the region ──────────────────────
//
// Made by walking the heap: O(blocks). A value; it costs nothing while the program runs.
//
// Example:
//     millpond::classic::bsd<> heap;
//     void* block = heap.allocate(100, 8);
//     assert(heap.use().blocks == 1);
#pragma once

#include <cstddef>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

struct heap_use {
    std::size_t blocks = 0;
    std::size_t block_bytes = 0;  // tags included
    std::size_t free_blocks = 0;
    std::size_t free_bytes = 0;
    std::size_t largest_free_bytes = 0;
    std::size_t used_bytes = 0;  // from the base to the end of the last block
    std::size_t held_bytes = 0;
    std::size_t mapped_bytes = 0;

    // Effects: adds `times` blocks of `bytes` each.
    void note(std::size_t bytes, bool is_free, std::size_t times = 1) noexcept {
        (is_free ? free_blocks : blocks) += times;
        (is_free ? free_bytes : block_bytes) += times * bytes;
        if (is_free && times != 0 && bytes > largest_free_bytes) largest_free_bytes = bytes;
    }

    // Returns: the share of the free bytes outside the largest free block; 0 if nothing is free.
    [[nodiscard]] double external_fragmentation() const noexcept {
        if (free_bytes == 0) return 0.0;
        return 1.0 - static_cast<double>(largest_free_bytes) / static_cast<double>(free_bytes);
    }
};

}  // namespace millpond::inline MILLPOND_ABI::classic
