// SPDX-License-Identifier: BSL-1.0
// gnu_local: page-sized chunks of blocks of one size, described in a table apart from them.
//
//   table   │ - │ 32 B, 3 free │ 2 pages │   │ free, 4 pages │   │   │   │ …       four words a page
//              │                │                │
//   pages   │   │▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│               │                a block's page is its address / 4096
//
// The paper's GNU LOCAL is Mike Haertel's allocator. Requests up to a page are rounded up to a power of two and lie in
// pages of one size; no block has a tag. A page's entry counts its free blocks; when all are free, so is the page.
// Larger requests are whole pages, found by first fit over the table: free runs of pages are a ring in the order of
// addresses, searched from where the last search ended, and neighbours become one. The table lies in pages of the heap
// and moves to a place twice as large when the heap outgrows it.
// Padding is added to every request: with 8 bytes it is the paper's "with tags" (Table 6). The paper does not give the
// smallest block (here two links) or the start of the search.
//
// allocate, deallocate: O(1) for blocks below a page, and O(blocks in a page) when one becomes free; O(free runs) for
// pages. deallocate needs only the address. Serves every alignment; null at the region's limit. Not thread-safe.
// Source: Grunwald, Zorn and Henderson 1993, sections 2.1, 4.3 and Table 6.
//
// Example:
//     millpond::classic::gnu_local<> heap;
//     void* block = heap.allocate(24, 8);
//     heap.deallocate(block);
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "../block/region.hpp"
#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "detail/break_heap.hpp"
#include "detail/heap_shell.hpp"
#include "heap_use.hpp"
#include "operation_counts.hpp"
#include "words.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

// Counts: operation_counts, or `uncounted`. Region: a basic_region. Padding: bytes added to each request.
template <class Words = pointer_words, class Counts = uncounted, std::size_t Padding = 0, class Region = region>
class gnu_local
    : public detail::heap_shell<gnu_local<Words, Counts, Padding, Region>, detail::break_heap<Words, Region>, Counts> {
    using shell = detail::heap_shell<gnu_local, detail::break_heap<Words, Region>, Counts>;
    friend shell;
    using memory = detail::break_heap<Words, Region>;
    using word = typename Words::word;

  public:
    static constexpr std::size_t page_bytes = memory::page_bytes;
    static constexpr std::size_t least_block_bytes =
        std::bit_ceil(2 * sizeof(word) < Words::alignment ? Words::alignment : 2 * sizeof(word));

    explicit gnu_local(std::size_t limit_bytes = shell::default_limit_bytes) noexcept : shell(limit_bytes) {}

    // Returns: memory for `bytes`, aligned to `alignment` and to the words' own alignment; null if there is no memory.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > detail::max_bytes / 4 || alignment > detail::max_bytes / 4) return nullptr;
        std::size_t wanted = bytes + Padding;
        if (wanted < alignment) wanted = alignment;
        std::byte* const block = wanted <= page_bytes ? take_block(wanted) : take_pages(wanted, alignment);
        if (block != nullptr) counts_.note_allocation(bytes, bytes_of(block));
        return block;
    }

    // Returns: the bytes that the user of the block may use.
    [[nodiscard]] std::size_t usable_bytes(const void* block) const noexcept {
        return bytes_of(static_cast<const std::byte*>(block)) - Padding;
    }

    // Calls visit(number, free blocks) for each list of free blocks, empty ones too; the first is that of the free runs
    // of pages. O(free blocks).
    template <class Visit>
    void for_each_list(Visit&& visit) const {
        std::size_t length = 0;
        for (std::size_t page = table_ != nullptr ? get(0, next) : 0; page != 0; page = get(page, next)) ++length;
        visit(std::size_t{0}, length);
        for (std::size_t kind = least_kind; kind < kinds; ++kind) {
            length = 0;
            for (const std::byte* block = free_[kind]; block != nullptr && block != memory_.base();
                 block = next_of(block))
                ++length;
            visit(kind, length);
        }
    }

    // The table counts neither as a block nor as free. O(pages).
    [[nodiscard]] heap_use use() const noexcept {
        heap_use found = memory_.use();
        for (std::size_t page = 1; page < pages_;) {
            const std::size_t kind = get(page, kind_of);
            if (kind == run || kind == free_run) {
                const std::size_t length = get(page, count);
                if (page != page_of(table_)) found.note(length * page_bytes, kind == free_run);
                page += length;
                continue;
            }
            const std::size_t is_free = get(page, count);
            found.note(std::size_t{1} << kind, true, is_free);
            found.note(std::size_t{1} << kind, false, (page_bytes >> kind) - is_free);
            ++page;
        }
        return found;
    }

  private:
    using shell::counts_;
    using shell::memory_;
    // The fields of a table entry. `kind_of`: a run of pages, a free run, or the logarithm of the size of the page's
    // blocks. `count`: the pages of the run, or the free blocks. `first`, `last`: in a free run, the next and the
    // previous one; in a page of blocks, `first` is its first free block in the list of all.
    enum field : std::size_t { kind_of, count, first, last, fields };
    static constexpr std::size_t run = 1;
    static constexpr std::size_t free_run = 2;
    static constexpr std::size_t next = first;
    static constexpr std::size_t previous = last;
    static constexpr std::size_t entry_bytes = fields * sizeof(word);
    static constexpr std::size_t least_kind = std::bit_width(least_block_bytes) - 1;
    static constexpr std::size_t kinds = std::bit_width(page_bytes);

    [[nodiscard]] std::size_t get(std::size_t page, std::size_t f) const noexcept {
        return static_cast<std::size_t>(memory::load(table_ + page * entry_bytes + f * sizeof(word)));
    }
    void set(std::size_t page, std::size_t f, std::size_t value) noexcept {
        memory_.store(table_ + page * entry_bytes + f * sizeof(word), static_cast<word>(value));
    }

    [[nodiscard]] std::size_t page_of(const std::byte* place) const noexcept {
        return static_cast<std::size_t>(place - memory_.base()) / page_bytes;
    }
    [[nodiscard]] std::byte* start_of(std::size_t page) const noexcept { return memory_.base() + page * page_bytes; }

    [[nodiscard]] std::size_t bytes_of(const std::byte* block) const noexcept {
        const std::size_t kind = get(page_of(block), kind_of);
        return kind == run ? get(page_of(block), count) * page_bytes : std::size_t{1} << kind;
    }

    void give_back(std::byte* block) noexcept {
        counts_.note_deallocation();
        const std::size_t page = page_of(block);
        const std::size_t kind = get(page, kind_of);
        if (kind == run) {
            put_back(page, get(page, count));
        } else {
            put_back_block(block, page, kind);
        }
    }

    void forget() noexcept {
        table_ = nullptr;
        table_pages_ = rover_ = pages_ = 0;
        free_ = {};
    }

    // ── blocks of one size in a page ────────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] std::byte* take_block(std::size_t wanted) noexcept {
        if (wanted < least_block_bytes) wanted = least_block_bytes;
        const auto kind = static_cast<std::size_t>(std::bit_width(wanted - 1));
        std::byte* const block = free_[kind];
        if (block == nullptr) return cut_page(kind);
        const std::size_t page = page_of(block);
        const std::size_t left = get(page, count) - 1;
        std::byte* const after = next_of(block);
        unlink(block, kind);
        set(page, count, left);
        // The free blocks of a page follow one another in the list.
        if (left != 0) set(page, first, static_cast<std::size_t>(after - start_of(page)) >> kind);
        return block;
    }

    // Returns: the first block of a fresh page; the others are in the list.
    [[nodiscard]] std::byte* cut_page(std::size_t kind) noexcept {
        std::byte* const start = take_pages(page_bytes, page_bytes);
        if (start == nullptr) return nullptr;
        const std::size_t page = page_of(start);
        const std::size_t blocks = page_bytes >> kind;
        for (std::size_t n = 1; n < blocks; ++n) push(start + (n << kind), kind);
        set(page, kind_of, kind);
        set(page, count, blocks - 1);
        set(page, first, blocks - 1);
        return start;
    }

    void put_back_block(std::byte* block, std::size_t page, std::size_t kind) noexcept {
        const std::size_t blocks = page_bytes >> kind;
        const std::size_t is_free = get(page, count) + 1;
        std::byte* const first_free = start_of(page) + (get(page, first) << kind);
        if (is_free == blocks) {
            std::byte* each = first_free;
            for (std::size_t left = is_free - 1; left != 0; --left) {
                std::byte* const after = next_of(each);
                unlink(each, kind);
                each = after;
            }
            put_back(page, 1);
            return;
        }
        set(page, count, is_free);
        if (is_free > 1) {
            insert_behind(first_free, block);
            return;
        }
        set(page, first, static_cast<std::size_t>(block - start_of(page)) >> kind);
        push(block, kind);
    }

    // A list ends with a link to the base, where the first table lies; it also begins with one.
    [[nodiscard]] std::byte* next_of(const std::byte* block) const noexcept { return memory_.load_link(block); }
    [[nodiscard]] std::byte* previous_of(const std::byte* block) const noexcept {
        return memory_.load_link(block + sizeof(word));
    }

    void link(std::byte* before, std::byte* after) noexcept {
        if (before != memory_.base()) memory_.store_link(before, after);
        if (after != memory_.base()) memory_.store_link(after + sizeof(word), before);
    }

    void push(std::byte* block, std::size_t kind) noexcept {
        std::byte* const after = free_[kind] != nullptr ? free_[kind] : memory_.base();
        link(block, after);
        memory_.store_link(block + sizeof(word), memory_.base());
        free_[kind] = block;
    }

    void insert_behind(std::byte* before, std::byte* block) noexcept {
        std::byte* const after = next_of(before);
        link(before, block);
        memory_.store_link(block, memory_.base());
        link(block, after);
    }

    void unlink(std::byte* block, std::size_t kind) noexcept {
        std::byte* const before = previous_of(block);
        std::byte* const after = next_of(block);
        link(before, after);
        if (free_[kind] == block) free_[kind] = after != memory_.base() ? after : nullptr;
    }

    // ── runs of pages ───────────────────────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] std::byte* take_pages(std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t length = (bytes + page_bytes - 1) / page_bytes;
        const std::size_t spare = alignment > page_bytes ? alignment / page_bytes - 1 : 0;
        std::size_t page = find(length + spare);
        if (page == 0) page = grow(length + spare);
        if (page == 0) return nullptr;
        const std::size_t before = detail::padding_to(start_of(page), alignment) / page_bytes;
        const std::size_t behind = spare - before;
        set(page + before, kind_of, run);
        set(page + before, count, length);
        if (before != 0) put_back(page, before);
        if (behind != 0) put_back(page + before + length, behind);
        return start_of(page + before);
    }

    // Returns: a run of exactly so many pages, no longer in the ring; 0 if no free run is long enough.
    [[nodiscard]] std::size_t find(std::size_t length) noexcept {
        if (table_ == nullptr) return 0;
        const std::size_t start = rover_;
        std::size_t looked_at = 0;
        std::size_t page = start;
        do {
            if (page != 0) {
                ++looked_at;
                if (get(page, count) >= length) {
                    counts_.note_search(looked_at);
                    cut_run(page, length);
                    return page;
                }
            }
            page = get(page, next);
        } while (page != start);
        counts_.note_search(looked_at);
        return 0;
    }

    // Effects: makes the free run begin behind its first `length` pages, or takes it out of the ring.
    void cut_run(std::size_t page, std::size_t length) noexcept {
        const std::size_t before = get(page, previous);
        std::size_t after = get(page, next);
        if (const std::size_t rest = get(page, count) - length; rest != 0) {
            counts_.note_split();
            const std::size_t left = page + length;
            set(left, kind_of, free_run);
            set(left, count, rest);
            link_runs(left, after);
            after = left;
        }
        link_runs(before, after);
        rover_ = after;
    }

    // Returns: a run of exactly so many pages at the end of the heap, in no ring; 0 if there is no memory.
    [[nodiscard]] std::size_t grow(std::size_t length) noexcept {
        if (table_ == nullptr && !begin()) return 0;
        const std::size_t final_run = get(0, previous);
        const std::size_t ready =
            final_run != 0 && final_run + get(final_run, count) == pages_ ? get(final_run, count) : 0;
        if (ready < length) {
            const std::size_t more = length - ready;
            if (!make_room_for(more)) return 0;
            // The table has moved and lies behind the free run now.
            if (final_run + ready != pages_ && ready != 0) return grow(length);
            if (memory_.extend(more * page_bytes) == nullptr) return 0;
            counts_.note_growth();
            const std::size_t page = pages_;
            pages_ += more;
            if (ready == 0) return page;
            set(final_run, count, length);
        }
        cut_run(final_run, length);
        return final_run;
    }

    // Effects: makes the table of an empty heap, which describes only its own pages. Entry 0 is the head of the ring.
    [[nodiscard]] bool begin() noexcept {
        if (memory_.extend(page_bytes) == nullptr) return false;
        table_ = memory_.base();
        table_pages_ = 1;
        pages_ = 1;
        rover_ = 0;
        set(0, kind_of, run);
        set(0, count, 1);
        link_runs(0, 0);
        return true;
    }

    // Effects: makes room in the table for so many pages more; it may move. Returns: false if there is no memory; then
    // nothing has changed.
    [[nodiscard]] bool make_room_for(std::size_t more) noexcept {
        const std::size_t entries = table_pages_ * page_bytes / entry_bytes;
        if (pages_ + more <= entries) return true;
        std::size_t wider = 2 * table_pages_;
        while ((pages_ + more + wider) * entry_bytes > wider * page_bytes) wider *= 2;
        std::byte* const place = memory_.extend(wider * page_bytes);
        if (place == nullptr) return false;
        std::memcpy(place, table_, pages_ * entry_bytes);
        const std::size_t old_page = page_of(table_);
        const std::size_t old_length = table_pages_;
        table_ = place;
        table_pages_ = wider;
        set(pages_, kind_of, run);
        set(pages_, count, wider);
        pages_ += wider;
        if (old_page != 0) put_back(old_page, old_length);
        return true;
    }

    // Effects: puts a free run into its place in the ring, joined with its free neighbours. O(free runs).
    void put_back(std::size_t page, std::size_t length) noexcept {
        std::size_t before = rover_;
        while (before > page) before = get(before, previous);
        for (std::size_t after = get(before, next); after != 0 && after < page; after = get(before, next))
            before = after;
        std::size_t after = get(before, next);
        if (before != 0 && before + get(before, count) == page) {
            counts_.note_coalesce();
            page = before;
            length += get(before, count);
        } else {
            link_runs(before, page);
        }
        if (after != 0 && page + length == after) {
            counts_.note_coalesce();
            length += get(after, count);
            after = get(after, next);
        }
        link_runs(page, after);
        set(page, kind_of, free_run);
        set(page, count, length);
        rover_ = page;
    }

    void link_runs(std::size_t before, std::size_t after) noexcept {
        set(before, next, after);
        set(after, previous, before);
    }

    std::byte* table_ = nullptr;
    std::size_t table_pages_ = 0;
    std::size_t pages_ = 0;
    std::size_t rover_ = 0;                 // where the next search begins
    std::array<std::byte*, kinds> free_{};  // the first free block of each size
};

}  // namespace millpond::inline MILLPOND_ABI::classic
