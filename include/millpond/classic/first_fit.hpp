// SPDX-License-Identifier: BSL-1.0
// first_fit: one list of free blocks with a tag at each end, searched from where the last search ended.
//
//   head ─▶ free ─▶ free ─▶ free ─▶ free ─▶ head
//                    ▲ roving pointer: the first from here on that is large enough, and around
//
// The paper's FIRSTFIT is Knuth's first fit as Mark Moraes wrote it: one doubly linked list, boundary tags of two
// words, no cut that leaves less than 24 bytes, neighbours coalesced in constant time. The paper leaves three choices
// open. Here the lower part of a cut block is given, a freed block enters the list at its head, and memory grows by
// whole pages of 4 KiB, joined with a free block at the end. detail/tagged_heap.hpp shows the layout.
//
// allocate: O(free blocks). deallocate: O(1), needs only the address. Serves every alignment; null at the region's
// limit, by default that of `region`. Not thread-safe. Only release() returns memory to the system. Source: Grunwald,
// Zorn and Henderson 1993, section 2.1.
//
// Example:
//     millpond::classic::first_fit<> heap;
//     void* block = heap.allocate(24, 8);
//     heap.deallocate(block);
#pragma once

#include <cstddef>
#include <utility>

#include "../block/region.hpp"
#include "../core/abi.hpp"
#include "coalescing.hpp"
#include "detail/tagged_heap.hpp"
#include "operation_counts.hpp"
#include "words.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <classic::coalescing Merging>
class roving_first_fit {
  public:
    static constexpr classic::coalescing merging = Merging;
    static constexpr std::size_t lists = 1;
    [[nodiscard]] static constexpr std::size_t list_of(std::size_t) noexcept { return 0; }

    template <class Heap>
    void begin(Heap& heap) noexcept {
        rover_ = heap.head(0);
    }

    template <class Heap>
    [[nodiscard]] std::pair<std::byte*, std::size_t> find(const Heap& heap, std::size_t bytes) noexcept {
        std::byte* const start = rover_;
        std::byte* node = start;
        std::size_t looked_at = 0;
        do {
            if (!heap.is_head(node)) {
                ++looked_at;
                if (heap.size_of(node) >= bytes) {
                    rover_ = node;
                    return {node, looked_at};
                }
            }
            node = heap.next(node);
        } while (node != start);
        return {nullptr, looked_at};
    }

    void inserted(std::size_t) noexcept {}
    void unlinked(const std::byte* node, std::byte* after) noexcept {
        if (rover_ == node) rover_ = after;
    }

  private:
    std::byte* rover_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI::classic {

// Counts: operation_counts, or `uncounted`. Region: a basic_region.
template <class Words = pointer_words, class Counts = uncounted, coalescing Merging = coalescing::at_once,
          class Region = region>
using first_fit = detail::tagged_heap<Words, Counts, Region, detail::roving_first_fit<Merging>>;

}  // namespace millpond::inline MILLPOND_ABI::classic
