// SPDX-License-Identifier: BSL-1.0
// heap_record: the statistics of an allocator at one moment, the same for all: its memory, its lists, and its
// operations.
//
//   requested ⊂ in blocks ⊂ used ⊂ held ⊂ mapped bytes
//    └ internal ┘        └ external fragmentation: share of free bytes outside the largest free block
//
//   lists   │ 16: 3 free │ 32: none │ 64: 1 free │ …      two lists with free blocks, the longest has three
//
// Every classic allocator has record(), and counted<A> has it for any other allocator, such as multipool. A figure that
// an allocator cannot tell is 0 or has no value: the operations if it is `uncounted`, and lists and free blocks beneath
// `counted`, which does not walk them. for_each_list of a classic allocator gives the length of each list.
// wrap/use_series.hpp makes a series of records.
//
// A value. Made by walking the heap: O(blocks). Not thread-safe.
//
// Example:
//     millpond::classic::bsd<millpond::classic::pointer_words, millpond::classic::operation_counts> heap;
//     void* block = heap.allocate(100, 8);
//     assert(heap.record().requested_bytes() == 100 && heap.record().use.block_bytes == 128);
//     heap.deallocate(block, 100, 8);
//     assert(heap.record().requested_bytes() == 0);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../core/abi.hpp"
#include "heap_use.hpp"
#include "operation_counts.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

struct heap_record {
    heap_use use;
    std::size_t lists = 0;         // lists with a free block
    std::size_t longest_list = 0;  // blocks in the longest list
    operation_counts done;
    bool is_counted = false;  // `done` is known

    // Returns: the bytes requested for the live blocks. No value if they are unknown: not counted, or a block was freed
    // without its size since the last reset.
    [[nodiscard]] std::optional<std::uint64_t> requested_bytes() const noexcept {
        if (!is_counted || done.unsized_deallocations != 0) return std::nullopt;
        return done.live_requested_bytes;
    }

    // Returns: the share of the bytes in blocks beyond the requested ones: for the live blocks or, if those are
    // unknown, for all blocks so far. 0 if there are no blocks.
    [[nodiscard]] double internal_fragmentation() const noexcept {
        const auto requested = requested_bytes();
        if (!requested) return done.internal_fragmentation();
        if (use.block_bytes == 0) return 0.0;
        return 1.0 - static_cast<double>(*requested) / static_cast<double>(use.block_bytes);
    }

    // Returns: the share of the free bytes outside the largest free block; 0 if nothing is free.
    [[nodiscard]] double external_fragmentation() const noexcept { return use.external_fragmentation(); }

    // Effects: adds a list with so many free blocks.
    void note_list(std::size_t length) noexcept {
        lists += length != 0;
        if (length > longest_list) longest_list = length;
    }
};

}  // namespace millpond::inline MILLPOND_ABI::classic
