// SPDX-License-Identifier: BSL-1.0
// size_map: the allocator that the paper recommends: any size classes, pages of one class, and no tags.
//
//   request ─▶ array ─▶   24   │   40   │  1000  │ more ─▶ gnu_gxx, with its tags
//                         ▼        ▼          └─ for some sizes the call site decides ─▶ arena
//                        free     free    never coalesced
//
//   table   │  -  │ 24 │ 40 │ 1000 │  -  │ 24 │  …     a byte for each page: its class, the arena, or gnu_gxx has it
//   pages   │▒▒▒▒▒│24│24│24│…      │▒▒▒▒▒│            a block's page is its distance from the base / 4096
//
// It has QUICKFIT's structure (section 4.3) and three additions. All blocks of a page have one size, as in GNU LOCAL,
// so a free finds the class by the address and blocks have no overhead. Requests map to classes by "an arbitrary
// mapping" (section 4.4 and figure 9). A general allocator serves larger requests. The paper names three sources of
// classes, each of which is a Scheme here (core/size_class_scheme.hpp):
//   experience      powers_of_two, or exact_spacing, as QUICKFIT's multiples of a word
//   bounded waste   four_an_octave: less than "25 %" of a block is lost from 12 bytes on
//   measurement     class_map<24, 40, 1000>: the sizes of the program, by figure 9's array; the others compute theirs
//
// The paper leaves the rest open. Here the table lies apart from the pages, 64 pages to a cache line: at the start of
// each page it would take a block of the larger classes, and in a direct-mapped cache all headers would compete for a
// few lines. The table is a block of gnu_gxx, twice as large when the heap outgrows it. A class takes the fewest pages
// of 4 KiB that lose at most an eighth, and cuts them one page at a time. Pages come from a chunk that gnu_gxx gives: 8
// pages or a 32nd of all chunks, widened in place while nothing else lies behind it, and from gnu_gxx's free blocks
// before the heap grows. Without a chunk gnu_gxx gives the block. Pages stay with their class.
//
// A block is aligned as the request says, and to 8; the other classics also align to their words. Classes that are not
// multiples of 16 therefore cannot serve malloc on a 64-bit machine. The array has an entry for each unit up to 4 KiB,
// where the unit is a common divisor of all classes, at most 16. Scheme::class_of finds larger sizes and alignments.
//
// **Short-lived blocks** (section 5.1, after Barrett and Zorn): a Prediction lists sizes of which some blocks are
// expected to die soon, and decides by the call site which ones. They lie in a counted_arena, which is made for the
// first of them. The array marks those sizes, so others cost nothing more. If the arena has no empty chunk, the block's
// class serves the request. `no_prediction` has neither arena nor test.
//
// allocate, deallocate: O(1) up to Scheme::largest, else as gnu_gxx; deallocate needs only the address. Serves every
// alignment; null at the region's limit. Not thread-safe. Only release() returns memory to the system.
// Source: Grunwald, Zorn and Henderson 1993, sections 4.3, 4.4 and 5.1 and figure 9.
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
#include "counted_arena.hpp"
#include "detail/break_heap.hpp"
#include "detail/heap_shell.hpp"
#include "gnu_gxx.hpp"
#include "heap_use.hpp"
#include "operation_counts.hpp"
#include "words.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

// Predicts no short-lived blocks. A prediction has these static members:
//   chunks                   the number of chunks of the arena
//   asks(bytes)              constexpr: whether call sites decide for this size, a multiple of 16
//   is_short(bytes, site)    whether this one is expected to die soon; noexcept. `bytes` are more than 0
struct no_prediction {};

// Scheme: the classes. Counts: operation_counts, or `uncounted`. Region: a basic_region.
template <size_class_scheme Scheme = four_an_octave<4096>, class Words = pointer_words, class Counts = uncounted,
          class Region = region, class Prediction = no_prediction>
class size_map : public detail::heap_shell<size_map<Scheme, Words, Counts, Region, Prediction>,
                                           detail::general_heap<Words, Counts, Region>, Counts> {
    using general = detail::general_heap<Words, Counts, Region>;
    using shell = detail::heap_shell<size_map, general, Counts>;
    friend shell;
    using memory = detail::break_heap<Words, Region>;
    using word = typename Words::word;
    static constexpr bool predicts = !std::is_same_v<Prediction, no_prediction>;
    // A table entry for a page: the number of its class plus 1, or 0; the arena's number follows the classes.
    using page_class = std::conditional_t<(Scheme::count < 254), std::uint8_t, std::uint16_t>;
    static_assert(Scheme::count < 32766, "size_map: too many classes");

    struct no_arena {
        void forget() noexcept {}
    };
    static constexpr auto arena_of = [] {
        if constexpr (predicts)
            return std::type_identity<counted_arena<Prediction::chunks>>{};
        else
            return std::type_identity<no_arena>{};
    };
    using arena = typename decltype(arena_of())::type;

  public:
    static constexpr std::size_t page_bytes = memory::page_bytes;

    explicit size_map(std::size_t limit_bytes = shell::default_limit_bytes) noexcept : shell(limit_bytes) {}

    // Returns: memory for `bytes`, aligned to `alignment` and to 8, or to the words' own alignment if that is less;
    // null if there is no memory.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > array_bytes || alignment > unit) return take_otherwise(bytes, alignment);
        unsigned number = numbers[(bytes + unit - 1) / unit];
        if (predicts && number > Scheme::count) number -= asked;
        return take_of(number, bytes, alignment);
    }

    // The same, for a block whose call site is known.
    template <class Site>
    [[nodiscard, gnu::always_inline]] void* try_allocate(std::size_t bytes, std::size_t alignment,
                                                         const Site& site) noexcept {
        if (bytes > array_bytes || alignment > unit) return take_otherwise(bytes, alignment);
        const unsigned number = numbers[(bytes + unit - 1) / unit];
        if constexpr (predicts) {
            if (number > Scheme::count) return take_by_site(number, bytes, alignment, site);
        }
        return take_of(number, bytes, alignment);
    }

    // Serves most frees. It is separate, so that a malloc can keep the other cases out of its own function. Returns:
    // false if the block is of no class; then nothing has changed.
    [[nodiscard, gnu::always_inline]] bool try_deallocate(void* block) noexcept {
        auto* const user = static_cast<std::byte*>(block);
        const unsigned number = number_at(user);
        if (number >= Scheme::count) return false;
        counts_.note_deallocation();
        counts_.note_unsized();
        put_back(user, number);
        return true;
    }

    // Returns: the bytes that the user of the block may use.
    [[nodiscard]] std::size_t usable_bytes(const void* block) const noexcept {
        const auto* const user = static_cast<const std::byte*>(block);
        const unsigned number = number_at(user);
        if (number < Scheme::count) return Scheme::bytes_of(number);
        if constexpr (predicts) {
            if (number == Scheme::count) return arena_.usable_bytes(user);
        }
        return general::usable_bytes(block);
    }

    // Calls visit(number, free blocks) for each list of free blocks, empty ones too; the last are those of gnu_gxx.
    // O(free blocks).
    template <class Visit>
    void for_each_list(Visit&& visit) const {
        for (unsigned number = 0; number < Scheme::count; ++number) visit(std::size_t{number}, length_of(number));
        memory_.for_each_list([&](std::size_t list, std::size_t length) { visit(Scheme::count + list, length); });
    }

    // Small blocks count instead of the pages that they are cut from; the table counts neither as a block nor as free.
    // In the arena, chunks with live blocks count as blocks, and empty ones, like the table, not at all. O(blocks).
    [[nodiscard]] heap_use use() const noexcept {
        heap_use found = memory_.use();
        found.blocks -= own_blocks_;
        found.block_bytes -= own_bytes_;
        for (unsigned number = 0; number < Scheme::count; ++number) {
            const std::size_t is_free = length_of(number);
            found.note(Scheme::bytes_of(number), true, is_free);
            found.note(Scheme::bytes_of(number), false, cuts_[number].blocks - is_free);
        }
        if constexpr (predicts) {
            found.blocks += arena_.live_blocks();
            found.block_bytes += arena_.held_chunks() * arena::chunk_bytes;
        }
        return found;
    }

    // Returns: the counts of gnu_gxx: its own blocks, and its work for pages. operations() counts the other blocks.
    [[nodiscard]] const Counts& general_operations() const noexcept { return memory_.operations(); }

    // Returns: the counts of the arena's blocks, which operations() includes.
    [[nodiscard]] const Counts& short_operations() const noexcept
        requires predicts
    {
        return short_counts_;
    }
    // Returns: the chunks of the arena that have live blocks now.
    [[nodiscard]] unsigned held_chunks() const noexcept
        requires predicts
    {
        return arena_.held_chunks();
    }

  private:
    using shell::counts_;
    using shell::memory_;
    static constexpr std::size_t most_step_pages = 256;
    static constexpr std::size_t least_table_entries = 64;

    // The pages that are being cut into blocks of a class.
    struct cut_state {
        std::byte* rest = nullptr;
        std::size_t rest_bytes = 0;
        std::size_t blocks = 0;  // number of blocks cut so far
    };

    // ── the array ───────────────────────────────────────────────────────────────────────────────────────────────────

    // A common divisor of all classes; 16 serves malloc's callers.
    static constexpr std::size_t unit = [] {
        std::size_t bits = 16;
        for (unsigned number = 0; number < Scheme::count; ++number) bits |= Scheme::bytes_of(number);
        return bits & (~bits + 1);
    }();
    static constexpr std::size_t array_bytes = std::min(Scheme::largest, std::size_t{4096});
    // Added to the number of a class if call sites decide for that size.
    static constexpr unsigned asked = Scheme::count + 1;
    using array_entry = std::conditional_t<(2 * Scheme::count + 1 < 256), std::uint8_t, std::uint16_t>;

    static constexpr auto numbers = [] {
        std::array<array_entry, array_bytes / unit + 1> found{};
        for (std::size_t units = 0; units < found.size(); ++units) {
            unsigned number = Scheme::class_of(units * unit, unit);
            if constexpr (predicts) {
                const std::size_t bytes = detail::align_up(units * unit, arena::unit);
                if (bytes != 0 && bytes <= arena::most_block_bytes && Prediction::asks(bytes)) number += asked;
            }
            found[units] = static_cast<array_entry>(number);
        }
        return found;
    }();

    [[nodiscard]] static constexpr bool is_good_run(std::size_t pages, std::size_t bytes) noexcept {
        return pages * page_bytes >= bytes && pages * page_bytes % bytes <= pages * page_bytes / 8;
    }
    // The fewest pages of which a class's blocks lose at most an eighth.
    static constexpr auto pages_of_class = [] {
        std::array<std::size_t, Scheme::count> found{};
        for (unsigned number = 0; number < Scheme::count; ++number) {
            std::size_t pages = 1;
            while (!is_good_run(pages, Scheme::bytes_of(number))) ++pages;
            found[number] = pages;
        }
        return found;
    }();

    [[nodiscard]] std::byte* base() const noexcept { return memory_.head(0); }
    [[nodiscard]] std::size_t page_of(const std::byte* place) const noexcept {
        return static_cast<std::size_t>(place - base()) / page_bytes;
    }

    // Returns: the number of the block's class; Scheme::count in the arena; more if gnu_gxx owns the block.
    [[nodiscard]] unsigned number_at(const std::byte* user) const noexcept {
        const std::size_t page = page_of(user);
        return page < table_entries_ ? table_[page] - 1U : ~0U;
    }

    [[nodiscard]] std::size_t length_of(unsigned number) const noexcept {
        std::size_t length = 0;
        for (word link = free_[number]; link != 0; link = memory::load(Words::follow(base(), link))) ++length;
        return length;
    }

    // ── blocks ──────────────────────────────────────────────────────────────────────────────────────────────────────

    [[nodiscard, gnu::always_inline]] void* take_of(unsigned number, std::size_t bytes,
                                                    std::size_t alignment) noexcept {
        const word link = free_[number];
        if (link == 0) return take_fresh(number, bytes, alignment);
        std::byte* const block = Words::follow(base(), link);
        free_[number] = memory::load(block);
        counts_.note_allocation(bytes, Scheme::bytes_of(number));
        return block;
    }

    void put_back(std::byte* user, unsigned number) noexcept {
        memory::store(user, free_[number]);
        free_[number] = Words::link(base(), user);
    }

    void give_back(std::byte* user) noexcept {
        const unsigned number = number_at(user);
        if (number < Scheme::count) {
            counts_.note_deallocation();
            put_back(user, number);
            return;
        }
        if constexpr (predicts) {
            if (number == Scheme::count) {
                counts_.note_deallocation();
                short_counts_.note_deallocation();
                arena_.give_back(user);
                return;
            }
        }
        give_back_otherwise(user);
    }

    // Serves a request when the list is empty. Returns: a block of gnu_gxx if there are no pages; null if there is no
    // memory. Not inlined, nor are the next ones: a malloc would save registers for them in every call.
    [[nodiscard, gnu::noinline]] void* take_fresh(unsigned number, std::size_t bytes, std::size_t alignment) noexcept {
        return cut(number) ? take_of(number, bytes, alignment) : memory_.try_allocate(bytes, alignment);
    }

    // Effects: frees as many blocks as a page has, the lowest first. Returns: false if there is no memory.
    [[nodiscard]] bool cut(unsigned number) noexcept {
        cut_state& own = cuts_[number];
        const std::size_t bytes = Scheme::bytes_of(number);
        if (own.rest_bytes < bytes && !take_pages(own, number)) return false;
        const std::size_t blocks = std::max(std::min(own.rest_bytes, page_bytes) / bytes, std::size_t{1});
        std::byte* block = own.rest;
        own.rest += blocks * bytes;
        own.rest_bytes -= blocks * bytes;
        own.blocks += blocks;
        free_[number] = Words::link(base(), block);
        for (std::byte* const last = own.rest - bytes; block != last; block += bytes)
            memory::store(block, Words::link(base(), block + bytes));
        memory::store(block, 0);
        return true;
    }

    // Serves requests for which the array has no entry.
    [[nodiscard, gnu::noinline]] void* take_otherwise(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned number = Scheme::class_of(bytes, alignment);
        return number < Scheme::count ? take_of(number, bytes, alignment) : memory_.try_allocate(bytes, alignment);
    }

    [[gnu::noinline]] void give_back_otherwise(std::byte* user) noexcept { memory_.give_back(user); }

    // `number`: the array's entry. Returns a block of the arena or of the class.
    template <class Site>
    [[nodiscard, gnu::noinline]] void* take_by_site(unsigned number, std::size_t bytes, std::size_t alignment,
                                                    Site site) noexcept
        requires predicts
    {
        if (Prediction::is_short(bytes, site)) {
            std::byte* const block = arena_.try_allocate(bytes);
            if (block != nullptr) return note_short(block, bytes);
            if (!arena_.has_begun() && begin_arena()) return note_short(arena_.try_allocate(bytes), bytes);
        }
        return take_of(number - asked, bytes, alignment);
    }
    [[nodiscard]] void* note_short(std::byte* block, std::size_t bytes) noexcept
        requires predicts
    {
        counts_.note_allocation(bytes, arena_.usable_bytes(block));
        short_counts_.note_allocation(bytes, arena_.usable_bytes(block));
        return block;
    }

    [[nodiscard, gnu::noinline]] bool begin_arena() noexcept
        requires predicts
    {
        static_assert(arena::arena_bytes % page_bytes == 0);
        constexpr std::size_t pages = arena::arena_bytes / page_bytes;
        std::byte* const start = take_chunk(pages, true);
        if (start == nullptr) return false;
        counts_.note_growth();
        note_pages(start, pages, Scheme::count);
        arena_.begin(start);
        return true;
    }

    // ── pages ───────────────────────────────────────────────────────────────────────────────────────────────────────

    // Effects: takes fresh pages for a class. Returns: false if there is no memory.
    [[nodiscard]] bool take_pages(cut_state& own, unsigned number) noexcept {
        const std::size_t bytes = Scheme::bytes_of(number);
        std::size_t pages = pages_of_class[number];
        if (rest_pages_ < pages && !widen_chunk(pages, false)) {
            const bool is_good = is_good_run(rest_pages_, bytes) || begin_chunk(pages, false) ||
                                 widen_chunk(pages, true) || begin_chunk(pages, true);
            if (!is_good && rest_pages_ * page_bytes < bytes) return false;
            pages = std::min(pages, rest_pages_);
        }
        counts_.note_growth();
        note_pages(rest_, pages, number);
        own.rest = rest_;
        own.rest_bytes = pages * page_bytes;
        rest_ += pages * page_bytes;
        rest_pages_ -= pages;
        return true;
    }

    void note_pages(const std::byte* start, std::size_t pages, unsigned number) noexcept {
        for (std::size_t page = 0; page < pages; ++page)
            table_[page_of(start) + page] = static_cast<page_class>(number + 1);
    }

    // Returns: a share of all chunks, in pages, to be taken at once; some of it may stay unused.
    [[nodiscard]] std::size_t step_pages(std::size_t share, std::size_t least) const noexcept {
        return std::clamp(own_bytes_ / page_bytes / share, least, most_step_pages);
    }

    // Effects: widens the chunk that is being divided until the rest of it has at least `pages`, so that pages taken
    // one after the other are adjacent. Returns: false if another block of gnu_gxx lies behind it, or the heap ends
    // there and may not grow.
    [[nodiscard]] bool widen_chunk(std::size_t pages, bool may_grow) noexcept {
        if (chunk_ == nullptr) return false;
        const std::size_t more = std::max(pages - std::min(pages, rest_pages_), step_pages(32, 4));
        const std::size_t before = general::usable_bytes(chunk_);
        if (!make_room_for(page_of(rest_) + rest_pages_ + more) ||
            !memory_.enlarge_uncounted(chunk_, more * page_bytes, may_grow))
            return false;
        own_bytes_ += general::usable_bytes(chunk_) - before;
        rest_pages_ += more;
        return true;
    }

    // Effects: begins another chunk, of `pages` if there is not more. Returns: false if there is no memory.
    [[nodiscard]] bool begin_chunk(std::size_t pages, bool may_grow) noexcept {
        for (const std::size_t tried : {std::max(pages, step_pages(32, 8)), pages}) {
            std::byte* const start = take_chunk(tried, may_grow);
            if (start == nullptr) continue;
            chunk_ = rest_ = start;
            rest_pages_ = tried;
            return true;
        }
        return false;
    }

    // Returns: whole pages that the table has entries for; null if there is no memory.
    [[nodiscard]] std::byte* take_chunk(std::size_t pages, bool may_grow) noexcept {
        std::byte* const start = memory_.take_uncounted(pages * page_bytes, page_bytes, may_grow);
        if (start == nullptr) return nullptr;
        if (!make_room_for(page_of(start) + pages)) {
            memory_.give_back_uncounted(start);
            return nullptr;
        }
        note_own(start);
        return start;
    }

    // Effects: makes room in the table for so many entries; it may move. Returns: false if there is no memory; then
    // nothing has changed.
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
        free_ = {};
        cuts_ = {};
        arena_.forget();
        table_ = nullptr;
        chunk_ = rest_ = nullptr;
        table_entries_ = rest_pages_ = own_blocks_ = own_bytes_ = 0;
    }

    std::array<word, Scheme::count> free_{};  // links to the latest free blocks; no block lies at the base
    page_class* table_ = nullptr;
    std::size_t table_entries_ = 0;
    std::byte* chunk_ = nullptr;  // the chunk that is being divided
    std::byte* rest_ = nullptr;   // the rest of it
    std::size_t rest_pages_ = 0;
    std::size_t own_blocks_ = 0;  // blocks of gnu_gxx for our own use: the chunks, and the table
    std::size_t own_bytes_ = 0;
    std::array<cut_state, Scheme::count> cuts_{};
    [[no_unique_address]] arena arena_;
    [[no_unique_address]] std::conditional_t<predicts, Counts, no_arena> short_counts_;
};

}  // namespace millpond::inline MILLPOND_ABI::classic
