// SPDX-License-Identifier: BSL-1.0
// quick_fit: one list for each small size, indexed by its words; larger requests go to gnu_gxx.
//
//   request ─▶ 4 │ 8 │ 12 │ 16 │ 20 │ 24 │ 28 │ 32 │ more ─▶ gnu_gxx
//              │   │   the size in words is the index      tag │ user's bytes │ tag     odd: gnu_gxx is in charge
//              ▼   ▼
//           free  free   never coalesced                   tag │ user's bytes           even: the list is in charge
//
// The paper's QUICKFIT is Weinstock and Wulf's, with 4 … 32 bytes in the fast lists and GNU G++ behind them. A tag
// gives the size of a block and the allocator that owns it. An empty list takes a block from the rest of a page of 4
// KiB, which gnu_gxx gives; the paper says nothing of that. With `pointer_words` blocks are 16 bytes apart, as malloc's
// callers expect, and the lists are for 8, 24 and 40 bytes.
//
// allocate, deallocate: O(1) for small blocks, else as gnu_gxx; deallocate needs only the address. Serves every
// alignment; null at the region's limit. Not thread-safe. Source: Grunwald, Zorn and Henderson 1993, sections 2.1 and
// 4.3.
//
// Example:
//     millpond::classic::quick_fit<> heap;
//     void* block = heap.allocate(24, 8);
//     heap.deallocate(block);
#pragma once

#include <array>
#include <cstddef>

#include "../block/region.hpp"
#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "detail/break_heap.hpp"
#include "detail/heap_shell.hpp"
#include "detail/tag_before.hpp"
#include "gnu_gxx.hpp"
#include "heap_use.hpp"
#include "operation_counts.hpp"
#include "words.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

// Counts: operation_counts, or `uncounted`. Region: a basic_region. MostBytes: the largest request of the fast lists.
template <class Words = pointer_words, class Counts = uncounted, class Region = region, std::size_t MostBytes = 32>
class quick_fit : public detail::heap_shell<quick_fit<Words, Counts, Region, MostBytes>,
                                            detail::general_heap<Words, Counts, Region>, Counts> {
    using general = detail::general_heap<Words, Counts, Region>;
    using shell = detail::heap_shell<quick_fit, general, Counts>;
    friend shell;
    using memory = detail::break_heap<Words, Region>;
    using tags = detail::tag_before<memory>;
    using word = typename Words::word;

  public:
    static constexpr std::size_t unit = Words::alignment;
    // A tag, and a link in place of the user's bytes.
    static constexpr std::size_t least_block_bytes = detail::align_up(2 * tags::bytes, unit);
    static constexpr std::size_t lists =
        (detail::align_up(MostBytes + tags::bytes, unit) - least_block_bytes) / unit + 1;

    explicit quick_fit(std::size_t limit_bytes = shell::default_limit_bytes) noexcept : shell(limit_bytes) {}

    // Returns: memory for `bytes`, aligned to `alignment` and to the words' own alignment; null if there is no memory.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > MostBytes || alignment > unit) return memory_.try_allocate(bytes, alignment);
        const std::size_t list = list_of(bytes);
        std::byte* user = free_[list];
        if (user != nullptr) {
            free_[list] = load_next(user);
        } else {
            user = cut(list);
            if (user == nullptr) return nullptr;
        }
        counts_.note_allocation(bytes, block_bytes(list));
        return user;
    }

    // Returns: the bytes that the user of the block may use.
    [[nodiscard]] static std::size_t usable_bytes(const void* block) noexcept {
        const word tag = tags::read(static_cast<const std::byte*>(block));
        return is_general(tag) ? general::usable_bytes(block) : block_bytes(tag / 2) - tags::bytes;
    }

    // Calls visit(number, free blocks) for each list of free blocks, empty ones too; the last are those of gnu_gxx.
    // O(free blocks).
    template <class Visit>
    void for_each_list(Visit&& visit) const {
        for (std::size_t list = 0; list < lists; ++list) visit(list, length_of(list));
        memory_.for_each_list([&](std::size_t list, std::size_t length) { visit(lists + list, length); });
    }

    // The small blocks count instead of the pages that they are cut from. O(blocks).
    [[nodiscard]] heap_use use() const noexcept {
        heap_use found = memory_.use();
        found.blocks -= pages_;
        found.block_bytes -= page_bytes_;
        for (std::size_t list = 0; list < lists; ++list) {
            const std::size_t is_free = length_of(list);
            found.note(block_bytes(list), true, is_free);
            found.note(block_bytes(list), false, cut_[list] - is_free);
        }
        return found;
    }

    // Returns: the counts of gnu_gxx: its own blocks, and its work for pages. operations() counts the other blocks.
    [[nodiscard]] const Counts& general_operations() const noexcept { return memory_.operations(); }

  private:
    using shell::counts_;
    using shell::memory_;
    // The size for which gnu_gxx makes a whole page, its tags included.
    static constexpr std::size_t cut_bytes = memory::page_bytes - general::tag_bytes;

    [[nodiscard]] static std::size_t list_of(std::size_t bytes) noexcept {
        const std::size_t whole = bytes + tags::bytes;
        return whole <= least_block_bytes ? 0 : (whole - least_block_bytes + unit - 1) / unit;
    }
    [[nodiscard]] static std::size_t block_bytes(std::size_t list) noexcept { return least_block_bytes + list * unit; }
    [[nodiscard]] static bool is_general(word tag) noexcept { return (tag & 1) != 0; }

    [[nodiscard]] std::size_t length_of(std::size_t list) const noexcept {
        std::size_t length = 0;
        for (std::byte* user = free_[list]; user != nullptr; user = load_next(user)) ++length;
        return length;
    }

    // Returns the next free block. A link to the block itself ends a list.
    [[nodiscard]] std::byte* load_next(std::byte* user) const noexcept {
        std::byte* const next = Words::follow(memory_.head(0), memory::load(user));
        return next != user ? next : nullptr;
    }
    void store_next(std::byte* user, const std::byte* next) noexcept {
        memory::store(user, Words::link(memory_.head(0), next != nullptr ? next : user));
    }

    void give_back(std::byte* user) noexcept {
        const word tag = tags::read(user);
        if (is_general(tag)) return memory_.give_back(user);
        counts_.note_deallocation();
        std::byte*& first = free_[tag / 2];
        store_next(user, first);
        first = user;
    }

    // Returns: a block that was never given; null if there is no memory.
    [[nodiscard, gnu::noinline]] std::byte* cut(std::size_t list) noexcept {
        const std::size_t bytes = block_bytes(list);
        if (bytes > rest_bytes_) {
            void* const page = memory_.take_uncounted(cut_bytes, unit);
            if (page == nullptr) return nullptr;
            counts_.note_growth();
            const std::size_t whole = general::usable_bytes(page);
            rest_ = static_cast<std::byte*>(page) + unit - tags::bytes;
            rest_bytes_ = whole - (unit - tags::bytes);
            ++pages_;
            page_bytes_ += whole + general::tag_bytes;
        }
        std::byte* const user = rest_ + tags::bytes;
        tags::write(user, static_cast<word>(2 * list));
        rest_ += bytes;
        rest_bytes_ -= bytes;
        ++cut_[list];
        return user;
    }

    void forget() noexcept {
        free_ = {};
        cut_ = {};
        rest_ = nullptr;
        rest_bytes_ = pages_ = page_bytes_ = 0;
    }

    std::array<std::byte*, lists> free_{};
    std::array<std::size_t, lists> cut_{};
    std::byte* rest_ = nullptr;  // what is left of the page that is being cut
    std::size_t rest_bytes_ = 0;
    std::size_t pages_ = 0;
    std::size_t page_bytes_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::classic
