// SPDX-License-Identifier: BSL-1.0
// operation_counts: what a classic allocator did so far; as its parameter it counts, `uncounted` costs nothing.
//
//   search    how many free blocks were looked at: 0 │ 1 │ 2, 3 │ 4 … 7 │ …   a bin for each power of two
//   split     a block was cut in two               coalesce   two neighbours became one
//   grow      memory was taken from the region
//
// All functions are O(1). Not thread-safe. The document reasons with these; its figures are instructions and misses.
//
// Example:
//     millpond::classic::first_fit<millpond::classic::pointer_words, millpond::classic::operation_counts> heap;
//     void* block = heap.allocate(24, 8);
//     assert(heap.operations().allocations == 1);
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

struct operation_counts {
    static constexpr std::size_t bins = 24;

    std::uint64_t allocations = 0;
    std::uint64_t deallocations = 0;
    std::uint64_t requested_bytes = 0;  // of all allocations so far
    std::uint64_t block_bytes = 0;      // of the blocks that served them, tags included
    std::uint64_t searched_blocks = 0;
    std::uint64_t splits = 0;
    std::uint64_t coalesces = 0;
    std::uint64_t growths = 0;
    std::array<std::uint64_t, bins> searches{};

    void note_allocation(std::size_t requested, std::size_t block) noexcept {
        ++allocations;
        requested_bytes += requested;
        block_bytes += block;
    }
    void note_deallocation() noexcept { ++deallocations; }
    void note_search(std::size_t looked_at) noexcept {
        searched_blocks += looked_at;
        const auto bin = static_cast<std::size_t>(std::bit_width(looked_at));
        ++searches[bin < bins ? bin : bins - 1];
    }
    void note_split() noexcept { ++splits; }
    void note_coalesce() noexcept { ++coalesces; }
    void note_growth() noexcept { ++growths; }

    // Returns: the share of the bytes given so far that nobody had asked for; 0 before the first block.
    [[nodiscard]] double internal_fragmentation() const noexcept {
        if (block_bytes == 0) return 0.0;
        return 1.0 - static_cast<double>(requested_bytes) / static_cast<double>(block_bytes);
    }
};

struct uncounted {
    constexpr void note_allocation(std::size_t, std::size_t) noexcept {}
    constexpr void note_deallocation() noexcept {}
    constexpr void note_search(std::size_t) noexcept {}
    constexpr void note_split() noexcept {}
    constexpr void note_coalesce() noexcept {}
    constexpr void note_growth() noexcept {}
};

}  // namespace millpond::inline MILLPOND_ABI::classic
