// SPDX-License-Identifier: BSL-1.0
// best_fit: one list of free blocks with a tag at each end, searched for the smallest that is large enough.
//
//   wanted 40:   head ─▶ 96 ─▶ 48 ─▶ 32 ─▶ 64 ─▶ head      the whole list is searched, 48 is taken
//                               ▲
// The paper names best fit among the sequential fits and gives no figures for it. Everything except the search is as in
// first_fit; the search ends early at a block of exactly the size.
//
// allocate: O(free blocks). deallocate: O(1), needs only the address. Serves every alignment; null at the region's
// limit. Not thread-safe. Source: Grunwald, Zorn and Henderson 1993, sections 2.1 and 5.
//
// Example:
//     millpond::classic::best_fit<> heap;
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
class smallest_of_all {
  public:
    static constexpr classic::coalescing merging = Merging;
    static constexpr std::size_t lists = 1;
    [[nodiscard]] static constexpr std::size_t list_of(std::size_t) noexcept { return 0; }

    template <class Heap>
    [[nodiscard]] static std::pair<std::byte*, std::size_t> find(const Heap& heap, std::size_t bytes) noexcept {
        std::byte* best = nullptr;
        std::size_t best_bytes = 0;
        std::size_t looked_at = 0;
        for (std::byte* node = heap.next(heap.head(0)); !heap.is_head(node); node = heap.next(node)) {
            ++looked_at;
            const std::size_t found = heap.size_of(node);
            if (found < bytes || (best != nullptr && found >= best_bytes)) continue;
            best = node;
            best_bytes = found;
            if (found == bytes) break;
        }
        return {best, looked_at};
    }

    template <class Heap>
    static void begin(Heap&) noexcept {}
    static void inserted(std::size_t) noexcept {}
    static void unlinked(const std::byte*, std::byte*) noexcept {}
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI::classic {

// Counts: operation_counts, or `uncounted`. Region: a basic_region.
template <class Words = pointer_words, class Counts = uncounted, coalescing Merging = coalescing::at_once,
          class Region = region>
using best_fit = detail::tagged_heap<Words, Counts, Region, detail::smallest_of_all<Merging>>;

}  // namespace millpond::inline MILLPOND_ABI::classic
