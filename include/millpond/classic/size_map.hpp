// SPDX-License-Identifier: BSL-1.0
// size_map: the allocator that the document recommends: any classes of sizes, pages of one class, and no tags.
//
//   request ─▶ array ─▶   24   │   40   │  1000  │ more ─▶ gnu_gxx, with its tags
//                         ▼        ▼
//                        free     free    never coalesced
//
//   table   │  -  │ 24 │ 40 │ 1000 │  -  │ 24 │  …     a byte for each page: its class, or gnu_gxx is in charge
//   pages   │▒▒▒▒▒│24│24│24│…      │▒▒▒▒▒│            a block's page is its distance from the base / 4096
//
// QUICKFIT's structure (section 4.3) with what GNU LOCAL adds to it: all blocks of a page have one size, so that a
// free finds the class by the address and blocks have no overhead; "an arbitrary mapping" from requests to classes
// (section 4.4 and figure 9); a general allocator for larger requests. The document names three sources of classes.
// Each is a Scheme here (core/size_class_scheme.hpp):
//   experience      powers_of_two, or exact_spacing, as QUICKFIT's multiples of a word
//   bounded waste   four_an_octave: less than "25 %" of a block is lost from 12 bytes on
//   measurement     class_map<24, 40, 1000>: the sizes of the program, by figure 9's array; the others compute theirs
//
// The document is silent on the rest, which is so: the table lies apart from the pages, 64 pages in a line of the
// cache; at the start of each page it would take a block of the larger classes, and in a direct-mapped cache all
// headers would compete for a few lines. The table is a block of gnu_gxx, twice as large when the heap outgrows it. A
// class takes the fewest pages of 4 KiB that lose at most an eighth, from a chunk of 16 or more pages that gnu_gxx
// gives, and cuts them one block at a time. Without a chunk gnu_gxx gives the block. Pages stay with their class.
//
// A block is aligned as the request says, and to 8; the other classics also align to their words. So classes that are
// no multiples of 16 serve no malloc of a 64-bit machine.
//
// allocate, deallocate: O(1) up to Scheme::largest, else as gnu_gxx; by address alone. Every alignment is served; null
// where the region's limit is reached. Not thread-safe. Memory goes back to the system by release() alone.
// Source: Grunwald, Zorn and Henderson 1993, sections 4.3, 4.4 and figure 9.
//
// Example:
//     millpond::classic::size_map<millpond::class_map<24, 40, 1000>> heap;
//     void* block = heap.allocate(24, 8);
//     assert(heap.usable_bytes(block) == 24);
//     heap.deallocate(block);
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../block/region.hpp"
#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/four_an_octave.hpp"
#include "../core/size_class_scheme.hpp"
#include "detail/break_heap.hpp"
#include "detail/heap_shell.hpp"
#include "gnu_gxx.hpp"
#include "heap_use.hpp"
#include "operation_counts.hpp"
#include "words.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

// Scheme: the classes. Counts: operation_counts, or `uncounted`. Region: a basic_region.
template <size_class_scheme Scheme = four_an_octave<4096>, class Words = pointer_words, class Counts = uncounted,
          class Region = region>
class size_map : public detail::heap_shell<size_map<Scheme, Words, Counts, Region>,
                                           detail::general_heap<Words, Counts, Region>, Counts> {
    using general = detail::general_heap<Words, Counts, Region>;
    using shell = detail::heap_shell<size_map, general, Counts>;
    friend shell;
    using memory = detail::break_heap<Words, Region>;
    using word = typename Words::word;
    // What the table says of a page: the number of its class and 1, or 0.
    using page_class = std::conditional_t<(Scheme::count < 255), std::uint8_t, std::uint16_t>;
    static_assert(Scheme::count < 65535, "size_map: too many classes");

  public:
    static constexpr std::size_t page_bytes = memory::page_bytes;

    explicit size_map(std::size_t limit_bytes = shell::default_limit_bytes) noexcept : shell(limit_bytes) {}

    // Returns: memory for `bytes`, aligned to `alignment` and to 8, or to the words' own alignment if that is less;
    // null where there is none.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned number = Scheme::class_of(bytes, alignment);
        if (number >= Scheme::count) return memory_.try_allocate(bytes, alignment);
        class_state& own = classes_[number];
        std::byte* block = nullptr;
        if (own.free != 0) {
            block = Words::follow(base(), own.free);
            own.free = memory::load(block);
        } else {
            if (own.rest_bytes < Scheme::bytes_of(number) && !take_pages(own, number))
                return memory_.try_allocate(bytes, alignment);
            block = own.rest;
            own.rest += Scheme::bytes_of(number);
            own.rest_bytes -= Scheme::bytes_of(number);
            ++own.cut;
        }
        counts_.note_allocation(bytes, Scheme::bytes_of(number));
        return block;
    }

    // Returns: the bytes that the user of the block may use.
    [[nodiscard]] std::size_t usable_bytes(const void* block) const noexcept {
        const std::size_t found = class_at(static_cast<const std::byte*>(block));
        return found == 0 ? general::usable_bytes(block) : Scheme::bytes_of(static_cast<unsigned>(found - 1));
    }

    // Calls visit(number, free blocks) for each list of free blocks, empty ones too; the last are those of gnu_gxx.
    // O(free blocks).
    template <class Visit>
    void for_each_list(Visit&& visit) const {
        for (unsigned number = 0; number < Scheme::count; ++number) visit(std::size_t{number}, length_of(number));
        memory_.for_each_list([&](std::size_t list, std::size_t length) { visit(Scheme::count + list, length); });
    }

    // Small blocks in the place of the pages that they are cut from; the table counts as neither block nor free.
    // O(blocks).
    [[nodiscard]] heap_use use() const noexcept {
        heap_use found = memory_.use();
        found.blocks -= own_blocks_;
        found.block_bytes -= own_bytes_;
        for (unsigned number = 0; number < Scheme::count; ++number) {
            const std::size_t is_free = length_of(number);
            found.note(Scheme::bytes_of(number), true, is_free);
            found.note(Scheme::bytes_of(number), false, classes_[number].cut - is_free);
        }
        return found;
    }

    // Of the blocks that gnu_gxx gave, and its work for pages; operations() is of the others.
    [[nodiscard]] const Counts& general_operations() const noexcept { return memory_.operations(); }

  private:
    using shell::counts_;
    using shell::memory_;
    static constexpr std::size_t least_chunk_pages = 16;
    static constexpr std::size_t most_chunk_pages = 256;
    static constexpr std::size_t least_table_entries = 64;

    struct class_state {
        word free = 0;              // link to the block that was freed last; no block lies at the base
        std::byte* rest = nullptr;  // of the pages that are being cut
        std::size_t rest_bytes = 0;
        std::size_t cut = 0;  // blocks
    };

    // The fewest pages of which blocks of a class lose at most an eighth.
    static constexpr auto pages_of_class = [] {
        std::array<std::size_t, Scheme::count> found{};
        for (unsigned number = 0; number < Scheme::count; ++number) {
            const std::size_t bytes = Scheme::bytes_of(number);
            std::size_t pages = (bytes + page_bytes - 1) / page_bytes;
            while (pages * page_bytes % bytes > pages * page_bytes / 8) ++pages;
            found[number] = pages;
        }
        return found;
    }();

    [[nodiscard]] std::byte* base() const noexcept { return memory_.head(0); }
    [[nodiscard]] std::size_t page_of(const std::byte* place) const noexcept {
        return static_cast<std::size_t>(place - base()) / page_bytes;
    }

    // Returns: the number of the block's class and 1; 0 where gnu_gxx is in charge.
    [[nodiscard]] std::size_t class_at(const std::byte* user) const noexcept {
        const std::size_t page = page_of(user);
        return page < table_entries_ ? table_[page] : 0;
    }

    [[nodiscard]] std::size_t length_of(unsigned number) const noexcept {
        std::size_t length = 0;
        for (word link = classes_[number].free; link != 0; link = memory::load(Words::follow(base(), link))) ++length;
        return length;
    }

    void give_back(std::byte* user) noexcept {
        const std::size_t found = class_at(user);
        if (found == 0) return memory_.give_back(user);
        counts_.note_deallocation();
        word& first = classes_[found - 1].free;
        memory::store(user, first);
        first = Words::link(base(), user);
    }

    // Effects: fresh pages for a class. Returns: false where there is no memory.
    [[nodiscard]] bool take_pages(class_state& own, unsigned number) noexcept {
        std::size_t pages = pages_of_class[number];
        std::byte* start = nullptr;
        if (pages > least_chunk_pages / 2) {
            start = take_chunk(pages);
            if (start == nullptr) return false;
        } else {
            if (rest_pages_ * page_bytes < Scheme::bytes_of(number) && !divide_chunk(pages)) return false;
            if (pages > rest_pages_) pages = rest_pages_;
            start = rest_;
            rest_ += pages * page_bytes;
            rest_pages_ -= pages;
        }
        counts_.note_growth();
        for (std::size_t page = 0; page < pages; ++page)
            table_[page_of(start) + page] = static_cast<page_class>(number + 1);
        own.rest = start;
        own.rest_bytes = pages * page_bytes;
        return true;
    }

    // Effects: a chunk to be divided, of an eighth of all chunks, or of `pages` where there is no more memory.
    [[nodiscard]] bool divide_chunk(std::size_t pages) noexcept {
        const std::size_t wanted = std::clamp(own_bytes_ / page_bytes / 8, least_chunk_pages, most_chunk_pages);
        for (const std::size_t tried : {wanted, pages}) {
            std::byte* const start = take_chunk(tried);
            if (start == nullptr) continue;
            rest_ = start;
            rest_pages_ = tried;
            return true;
        }
        return false;
    }

    // Returns: whole pages that the table has entries for; null where there is no memory.
    [[nodiscard]] std::byte* take_chunk(std::size_t pages) noexcept {
        std::byte* const start = memory_.take_uncounted(pages * page_bytes, page_bytes);
        if (start == nullptr) return nullptr;
        if (!make_room_for(page_of(start) + pages)) {
            memory_.give_back_uncounted(start);
            return nullptr;
        }
        note_own(start);
        return start;
    }

    // Effects: the table has at least so many entries, in another place where it must. Returns: false where there is no
    // memory, and nothing has changed.
    [[nodiscard]] bool make_room_for(std::size_t entries) noexcept {
        if (entries <= table_entries_) return true;
        const std::size_t wider = std::max(std::bit_ceil(entries), least_table_entries);
        std::byte* const place = memory_.take_uncounted(wider * sizeof(page_class), Words::alignment);
        if (place == nullptr) return false;
        std::memset(place, 0, wider * sizeof(page_class));
        if (table_ != nullptr) {
            std::memcpy(place, table_, table_entries_ * sizeof(page_class));
            --own_blocks_;
            own_bytes_ -= general::usable_bytes(table_) + general::tag_bytes;
            memory_.give_back_uncounted(reinterpret_cast<std::byte*>(table_));
        }
        note_own(place);
        table_ = reinterpret_cast<page_class*>(place);
        table_entries_ = wider;
        return true;
    }

    void note_own(const void* block) noexcept {
        ++own_blocks_;
        own_bytes_ += general::usable_bytes(block) + general::tag_bytes;
    }

    void forget() noexcept {
        classes_ = {};
        table_ = nullptr;
        rest_ = nullptr;
        table_entries_ = rest_pages_ = own_blocks_ = own_bytes_ = 0;
    }

    std::array<class_state, Scheme::count> classes_{};
    page_class* table_ = nullptr;
    std::size_t table_entries_ = 0;
    std::byte* rest_ = nullptr;  // of the chunk that is being divided
    std::size_t rest_pages_ = 0;
    std::size_t own_blocks_ = 0;  // of gnu_gxx: the chunks, and the table
    std::size_t own_bytes_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::classic
