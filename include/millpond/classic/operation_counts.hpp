// SPDX-License-Identifier: BSL-1.0
// operation_counts: counts of a classic allocator's operations. The parameter `uncounted` counts nothing and costs
// nothing.
//
//   search    the number of free blocks looked at: 0 │ 1 │ 2, 3 │ 4 … 7 │ …   a bin for each power of two
//   split     a block was cut in two               coalesce   two neighbours became one
//   grow      memory was taken from the region
//   insert    a free block entered a doubly linked list: its links and those of its neighbours there were written
//
// A free that gives only the address does not tell the size requested. The bytes requested for live blocks are known
// only if all frees are sized: a caller that records sizes, as a replay of a trace does, passes them with the block.
//
// All functions are O(1). Not thread-safe. The paper argues with these counts, but reports instructions and misses.
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
    std::uint64_t requested_bytes = 0;  // in all allocations so far
    std::uint64_t block_bytes = 0;      // in the blocks that served them, tags included
    std::uint64_t searched_blocks = 0;
    std::uint64_t splits = 0;
    std::uint64_t coalesces = 0;
    std::uint64_t growths = 0;
    std::uint64_t insertions = 0;
    std::uint64_t relinked_nodes = 0;         // blocks and heads of lists whose links these insertions wrote
    std::uint64_t relinked_pages = 0;         // of 4 KiB, that these lay on, added up over the insertions
    std::uint64_t live_requested_bytes = 0;   // minus the bytes of sized frees
    std::uint64_t unsized_deallocations = 0;  // since the last reset
    std::array<std::uint64_t, bins> searches{};

    void note_allocation(std::size_t requested, std::size_t block) noexcept {
        ++allocations;
        requested_bytes += requested;
        block_bytes += block;
        live_requested_bytes += requested;
    }
    void note_deallocation() noexcept { ++deallocations; }
    void note_sized(std::size_t requested) noexcept { live_requested_bytes -= requested; }
    void note_unsized() noexcept { ++unsized_deallocations; }
    void note_reset() noexcept { live_requested_bytes = unsized_deallocations = 0; }
    void note_search(std::size_t looked_at) noexcept {
        searched_blocks += looked_at;
        const auto bin = static_cast<std::size_t>(std::bit_width(looked_at));
        ++searches[bin < bins ? bin : bins - 1];
    }
    void note_split() noexcept { ++splits; }
    void note_coalesce() noexcept { ++coalesces; }
    void note_growth() noexcept { ++growths; }
    // `before`, `after`: the neighbours in the list, the same if it was empty. A page is counted once an insertion.
    void note_insertion(const void* before, const void* node, const void* after) noexcept {
        constexpr std::uintptr_t page_bytes = 4096;
        const auto page_of = [](const void* place) { return reinterpret_cast<std::uintptr_t>(place) / page_bytes; };
        const std::uintptr_t first = page_of(before), own = page_of(node), last = page_of(after);
        ++insertions;
        relinked_nodes += before == after ? 2 : 3;
        relinked_pages += 1U + (own != first) + (last != first && last != own);
    }

    // Effects: adds the operations of another part of the same heap. One part may count a block, another part its free.
    operation_counts& operator+=(const operation_counts& other) noexcept {
        constexpr std::array counters{&operation_counts::allocations,
                                      &operation_counts::deallocations,
                                      &operation_counts::requested_bytes,
                                      &operation_counts::block_bytes,
                                      &operation_counts::searched_blocks,
                                      &operation_counts::splits,
                                      &operation_counts::coalesces,
                                      &operation_counts::growths,
                                      &operation_counts::insertions,
                                      &operation_counts::relinked_nodes,
                                      &operation_counts::relinked_pages,
                                      &operation_counts::live_requested_bytes,
                                      &operation_counts::unsized_deallocations};
        for (const auto counter : counters) this->*counter += other.*counter;
        for (std::size_t bin = 0; bin < bins; ++bin) searches[bin] += other.searches[bin];
        return *this;
    }

    // Returns: the share of the bytes given so far beyond the requested ones; 0 before the first block.
    [[nodiscard]] double internal_fragmentation() const noexcept {
        if (block_bytes == 0) return 0.0;
        return 1.0 - static_cast<double>(requested_bytes) / static_cast<double>(block_bytes);
    }
};

struct uncounted {
    constexpr void note_allocation(std::size_t, std::size_t) noexcept {}
    constexpr void note_deallocation() noexcept {}
    constexpr void note_sized(std::size_t) noexcept {}
    constexpr void note_unsized() noexcept {}
    constexpr void note_reset() noexcept {}
    constexpr void note_search(std::size_t) noexcept {}
    constexpr void note_split() noexcept {}
    constexpr void note_coalesce() noexcept {}
    constexpr void note_growth() noexcept {}
    constexpr void note_insertion(const void*, const void*, const void*) noexcept {}
};

}  // namespace millpond::inline MILLPOND_ABI::classic
