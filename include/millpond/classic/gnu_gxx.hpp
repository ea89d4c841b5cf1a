// SPDX-License-Identifier: BSL-1.0
// gnu_gxx: free blocks with a tag at each end, in one list for each power of two of their size.
//
//   wanted 40:   16 … 31 │ 32 … 63 │ 64 … 127 │ 128 … │ …
//                            │          │ any block here is large enough: the first is taken
//                            ▼
//                           48 ─▶ 32 ─▶ 56   searched for the first that is large enough
//
// The paper's GNU G++ is Doug Lea's allocator of libg++, "similar to FIRSTFIT" except for the lists: tags, cuts and
// coalescing are as in first_fit. The paper leaves two choices open. Here a list is searched from its head, because a
// roving pointer would be needed for each list, and empty lists are skipped by a bit for each.
//
// look_at::heads follows the paper's conclusion in parts: tags and coalescing without a search. It looks only at the
// first block of a list.
//
// allocate: O(free blocks of one list). deallocate: O(1), needs only the address. Serves every alignment; null at the
// region's limit. Not thread-safe. Source: Grunwald, Zorn and Henderson 1993, sections 2.1 and 4.1.
//
// Example:
//     millpond::classic::gnu_gxx<> heap;
//     void* block = heap.allocate(24, 8);
//     heap.deallocate(block);
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../block/region.hpp"
#include "../core/abi.hpp"
#include "coalescing.hpp"
#include "detail/tagged_heap.hpp"
#include "operation_counts.hpp"
#include "words.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

// The blocks of a list that a search looks at.
enum class look_at { all, heads };

}  // namespace millpond::inline MILLPOND_ABI::classic

namespace millpond::inline MILLPOND_ABI::detail {

template <class Words, classic::coalescing Merging, classic::look_at Looked>
class list_by_logarithm {
  public:
    static constexpr classic::coalescing merging = Merging;
    static constexpr std::size_t lists = 8 * sizeof(typename Words::word);
    [[nodiscard]] static constexpr std::size_t list_of(std::size_t bytes) noexcept {
        return static_cast<std::size_t>(std::bit_width(bytes)) - 1;
    }

    template <class Heap>
    [[nodiscard]] std::pair<std::byte*, std::size_t> find(const Heap& heap, std::size_t bytes) noexcept {
        const std::size_t own = list_of(bytes);
        if (own >= lists) return {nullptr, 0};
        std::size_t looked_at = 0;
        for (std::byte* node = heap.next(heap.head(own)); !heap.is_head(node); node = heap.next(node)) {
            ++looked_at;
            if (heap.size_of(node) >= bytes) return {node, looked_at};
            if constexpr (Looked == classic::look_at::heads) break;
        }
        for (std::uint64_t larger = filled_ & ~((std::uint64_t{2} << own) - 1); larger != 0; larger &= larger - 1) {
            const auto list = static_cast<std::size_t>(std::countr_zero(larger));
            std::byte* const node = heap.next(heap.head(list));
            if (!heap.is_head(node)) return {node, looked_at + 1};
            filled_ &= ~(std::uint64_t{1} << list);  // its last block is gone
        }
        return {nullptr, looked_at};
    }

    template <class Heap>
    static void begin(Heap&) noexcept {}
    void inserted(std::size_t list) noexcept { filled_ |= std::uint64_t{1} << list; }
    static void unlinked(const std::byte*, std::byte*) noexcept {}

  private:
    std::uint64_t filled_ = 0;  // lists that may have a block
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI::classic {

// Counts: operation_counts, or `uncounted`. Region: a basic_region.
template <class Words = pointer_words, class Counts = uncounted, coalescing Merging = coalescing::at_once,
          look_at Looked = look_at::all, class Region = region>
using gnu_gxx = detail::tagged_heap<Words, Counts, Region, detail::list_by_logarithm<Words, Merging, Looked>>;

}  // namespace millpond::inline MILLPOND_ABI::classic

namespace millpond::inline MILLPOND_ABI::detail {

// The allocator to which quick_fit and size_map pass larger requests.
template <class Words, class Counts, class Region>
using general_heap = classic::gnu_gxx<Words, Counts, classic::coalescing::at_once, classic::look_at::all, Region>;

}  // namespace millpond::inline MILLPOND_ABI::detail
