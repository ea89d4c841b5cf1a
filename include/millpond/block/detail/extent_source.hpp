// SPDX-License-Identifier: BSL-1.0
// extent_source: takes many chunks of 4 KiB at once from the allocator beneath, and gives the pages of empty ones back
// to the system even if that allocator keeps them.
//
//   extent of 1, 8 or 63 chunks   │header│ chunk │ chunk │░░░░░░░░░░░░░░░│ chunk │      ░ empty: pages let go
//                                         ▲ owner, 16 bytes before each chunk
//   block of 1 to 8 extents       │extent│extent│extent│extent│      all empty: its pages are let go, and it goes back
//
// Use it for sources of process memory that hold on to freed memory: malloc keeps the top of its heap and everything
// below a live block, multipool keeps all small blocks. Such a source writes only into the first page and the last
// pages of an extent that came back. Free chunks are used again, the lowest address first. Requests of other sizes pass
// to the source unchanged.
//
// An extent lets the pages of its empty chunks go once 16 of them are empty and have been used, or all but two. A
// block of several extents lets all its pages go when it is returned. A single extent that never had 8 chunks in use
// keeps its pages, so small pools keep theirs.
//
// try_allocate, deallocate: O(1), but O(extents) for a new block in the middle of the others, and a system call for
// each run of empty chunks that is let go. Not thread-safe. Ownership: of the blocks; all chunks must be back before it
// is destroyed.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/concepts.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../os/pages.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <block_source Source, class Pages = os::pages>
class extent_source {
  public:
    static constexpr std::size_t chunk_bytes = 4096;
    static constexpr unsigned most_chunks = 63;
    static constexpr unsigned few_chunks = 8;
    static constexpr unsigned most_extents = 8;  // in a block
    static constexpr int most_unswept = 16;

    template <class... SourceArguments>
    explicit extent_source(SourceArguments&&... arguments) noexcept
        : source_(std::forward<SourceArguments>(arguments)...) {}

    extent_source(const extent_source&) = delete;
    extent_source& operator=(const extent_source&) = delete;
    ~extent_source() { assert(lowest_ == nullptr); }

    // Returns: `bytes` of memory aligned to `alignment`, or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (!is_chunk(bytes, alignment)) return source_.try_allocate(bytes, alignment);
        while (open_ != nullptr && open_->free == 0) open_ = open_->higher;
        if (open_ == nullptr) open_ = grow();
        return open_ == nullptr ? nullptr : take(*open_);
    }

    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        if (!is_chunk(bytes, alignment)) return source_.deallocate(block, bytes, alignment);
        extent& of = *owner_of(block);
        const auto offset = static_cast<std::size_t>(static_cast<char*>(block) - of.place(0));
        const std::uint64_t bit = std::uint64_t{1} << offset / place_bytes;
        of.free |= bit;
        of.unswept |= bit;
        const unsigned live = of.live();
        if (live == 0 && --of.first->live_extents == 0) return give_back(*of.first);
        if (open_ == nullptr || is_below(&of, open_)) open_ = &of;
        if (std::popcount(of.unswept) >= most_unswept || (live <= 2 && of.peak >= few_chunks)) sweep(of);
    }

    // Returns: the bytes of all blocks.
    [[nodiscard]] std::size_t held_bytes() const noexcept {
        std::size_t sum = 0;
        for (const extent* each = lowest_; each != nullptr; each = each->higher) sum += bytes_of(1, each->chunks);
        return sum;
    }

  private:
    static constexpr std::size_t owner_bytes = 16;  // a pointer, and the chunk stays aligned to 16
    static constexpr std::size_t place_bytes = owner_bytes + chunk_bytes;

    struct alignas(default_alignment) extent {
        extent* lower = nullptr;  // neighbours by address
        extent* higher = nullptr;
        extent* first;              // of the block, which counts …
        unsigned extents = 0;       // … in the block
        unsigned live_extents = 0;  // … that have live chunks
        std::uint64_t free;         // a one for each free chunk
        std::uint64_t unswept = 0;  // … whose pages may hold memory
        unsigned chunks;
        unsigned peak = 0;       // of live chunks, since the last sweep
        bool was_large = false;  // it has had `few_chunks` at once

        extent(extent* of, unsigned count) noexcept : first(of), free((std::uint64_t{1} << count) - 1), chunks(count) {}

        [[nodiscard]] unsigned live() const noexcept { return chunks - static_cast<unsigned>(std::popcount(free)); }
        [[nodiscard]] char* place(unsigned n) noexcept {
            return reinterpret_cast<char*>(this + 1) + static_cast<std::size_t>(n) * place_bytes;
        }
    };

    [[nodiscard]] static constexpr bool is_chunk(std::size_t bytes, std::size_t alignment) noexcept {
        return bytes == chunk_bytes && alignment <= default_alignment;
    }
    [[nodiscard]] static constexpr std::size_t bytes_of(unsigned extents, unsigned chunks) noexcept {
        return extents * (sizeof(extent) + chunks * place_bytes);
    }
    [[nodiscard]] static extent*& owner_of(void* chunk) noexcept {
        return *reinterpret_cast<extent**>(static_cast<char*>(chunk) - owner_bytes);
    }
    [[nodiscard]] static bool is_below(const extent* a, const extent* b) noexcept {
        return reinterpret_cast<std::uintptr_t>(a) < reinterpret_cast<std::uintptr_t>(b);
    }

    // Returns: the lowest free chunk of an extent that has one.
    [[nodiscard]] static void* take(extent& from) noexcept {
        const auto n = static_cast<unsigned>(std::countr_zero(from.free));
        if (from.live() == 0) ++from.first->live_extents;
        from.free &= from.free - 1;
        from.unswept &= from.free;
        if (from.live() > from.peak) from.peak = from.live();
        if (from.peak >= few_chunks) from.was_large = true;
        void* const chunk = from.place(n) + owner_bytes;
        owner_of(chunk) = &from;
        return chunk;
    }

    // Returns: the first extent of a new block, or null. Small pools take few chunks at a time; where the source has
    // not enough, fewer will do.
    [[nodiscard]] extent* grow() noexcept {
        const unsigned wanted = chunks_ == 0 ? 1 : chunks_ <= few_chunks ? few_chunks : most_chunks;
        // The pool doubles, rounded up: each block leaves its first page and its last one with the source.
        const unsigned as_many = (chunks_ + most_chunks - 1) / most_chunks;
        for (unsigned extents = std::clamp(as_many, 1U, most_extents); extents > 1; extents /= 2) {
            if (extent* const made = try_block(extents, most_chunks)) return made;
        }
        for (const unsigned chunks : {most_chunks, few_chunks, 1U}) {
            if (chunks > wanted) continue;
            if (extent* const made = try_block(1, chunks)) return made;
        }
        return nullptr;
    }

    [[nodiscard]] extent* try_block(unsigned extents, unsigned chunks) noexcept {
        auto* const memory = static_cast<char*>(source_.try_allocate(bytes_of(extents, chunks), alignof(extent)));
        if (memory == nullptr) return nullptr;
        auto* const first = reinterpret_cast<extent*>(memory);
        for (unsigned n = 0; n < extents; ++n) link(::new (memory + bytes_of(n, chunks)) extent(first, chunks));
        first->extents = extents;
        chunks_ += extents * chunks;
        return first;
    }

    void link(extent* made) noexcept {
        extent* below = highest_;
        if (below != nullptr && is_below(made, below)) {
            below = made != made->first ? made->first : nullptr;
            for (extent* next = below == nullptr ? lowest_ : below->higher; is_below(next, made); next = next->higher)
                below = next;
        }
        made->lower = below;
        made->higher = below == nullptr ? lowest_ : below->higher;
        (made->higher == nullptr ? highest_ : made->higher->lower) = made;
        (below == nullptr ? lowest_ : below->higher) = made;
    }

    // Effects: gives an empty block back.
    void give_back(extent& first) noexcept {
        const std::size_t bytes = bytes_of(first.extents, first.chunks);
        const unsigned chunks = first.extents * first.chunks;
        auto* const memory = reinterpret_cast<char*>(&first);
        bool lets_go = first.extents > 1;  // a page of each extent is in use from the start
        extent* last = &first;
        for (unsigned n = 1;; ++n) {
            lets_go |= last->was_large;
            if (open_ == last) open_ = last->higher;
            if (n == first.extents) break;
            last = last->higher;
        }
        (last->higher == nullptr ? highest_ : last->higher->lower) = first.lower;
        (first.lower == nullptr ? lowest_ : first.lower->higher) = last->higher;
        chunks_ -= chunks;
        if (lets_go) let_go(memory, memory + bytes);
        source_.deallocate(memory, bytes, alignof(extent));
    }

    // Effects: lets the pages of all free chunks go.
    static void sweep(extent& in) noexcept {
        for (std::uint64_t rest = in.free; rest != 0;) {
            const auto first = static_cast<unsigned>(std::countr_zero(rest));
            const auto count = static_cast<unsigned>(std::countr_one(rest >> first));
            const std::uint64_t run = ((std::uint64_t{1} << count) - 1) << first;
            if ((in.unswept & run) != 0) let_go(in.place(first), in.place(first + count));
            rest &= ~run;
        }
        in.unswept = 0;
        in.peak = in.live();
    }

    // Effects: gives the memory of the whole pages in between back to the system; they stay accessible.
    static void let_go(char* first, char* end) noexcept {
        const std::size_t page = Pages::size();
        char* const from = first + padding_to(first, page);
        const auto behind = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(end) % page);
        if (from < end - behind) Pages::let_go(from, static_cast<std::size_t>(end - behind - from));
    }

    [[no_unique_address]] Source source_;
    extent* lowest_ = nullptr;
    extent* highest_ = nullptr;
    extent* open_ = nullptr;  // the lowest that may have free chunks
    unsigned chunks_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
