// SPDX-License-Identifier: BSL-1.0
// slot_range: one reserved range of slots, in which an address finds its slot by subtraction and empty pages go back.
//
//   slots  │████████│██  ██│        │████████│▒▒▒▒▒▒ reserved ▒▒▒▒▒▒│      the pages in the middle were discarded
//   books  │levels of the bit tree│which pages may hold memory│leaves: a bit for each slot│▒▒▒▒ reserved ▒▒▒▒│
//
// compact_pool grows into it. A zero bit is a free slot, so discarded pages of the leaves need no care: they read as
// zero. Growth: the committed front grows by an eighth, at least 256 KiB; memory is populated 64 KiB at a time, just
// before slots are used. Sweeps return empty pages when those that became empty since the last sweep are more than a
// sixteenth of those in use and more than 64 KiB. A sweep uses discard, which splits no mapping, wherever the pages
// lie. Behind the last page in use it uses decommit, if that is more than half of the committed memory and a MiB.
//
// leaf_of, lowest_open: O(1). check_out, note_free: O(pages of the slots). grow: two system calls. sweep: O(pages
// between the lowest and the highest that became empty), and a system call for each run of empty ones. Not thread-safe.
// Ownership: of the addresses and the memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "../../block/reservation.hpp"
#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/bit_tree.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "slot_chunks.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Shape, class Pages>
class slot_range;

// Replaces the range of a pool that has none.
template <class Shape>
class slot_range<Shape, void> {};

template <class Shape, class Pages>
class slot_range {
    using word = typename Shape::word;
    using tree = basic_bit_tree<word>;
    static constexpr std::size_t slot_bytes = Shape::bytes;
    static constexpr std::size_t leaf_bytes = slot_bytes * tree::bits;  // bytes of the slots of a leaf

  public:
    using leaf = slot_leaf<word>;

    static constexpr std::size_t most_bytes = std::size_t{1} << (sizeof(std::size_t) == 8 ? 36 : 28);
    static constexpr std::size_t least_step_bytes = std::size_t{256} << 10;
    static constexpr std::size_t populated_bytes = std::size_t{64} << 10;
    static constexpr std::size_t least_sweep_bytes = std::size_t{64} << 10;
    static constexpr std::size_t least_decommit_bytes = std::size_t{1} << 20;

    slot_range() = default;
    slot_range(const slot_range&) = delete;
    slot_range& operator=(const slot_range&) = delete;

    [[nodiscard]] bool exists() const noexcept { return begin_ != 0; }
    [[nodiscard]] std::uintptr_t begin() const noexcept { return begin_; }
    // Returns: the bytes from begin() on that contain slots.
    [[nodiscard]] std::size_t extent() const noexcept { return extent_; }

    [[nodiscard]] word* leaf_of(std::size_t slot) const noexcept { return leaves_ + (slot >> tree::shift); }
    [[nodiscard]] std::size_t slot_of(const void* address) const noexcept {
        return (reinterpret_cast<std::uintptr_t>(address) - begin_) / slot_bytes;
    }
    [[nodiscard]] char* first_of(const word* taken) const noexcept { return leaf_at(number_of(taken)).first; }
    [[nodiscard]] bool holds(const void* address) const noexcept {
        return reinterpret_cast<std::uintptr_t>(address) - begin_ < extent_;
    }

    // Returns: the leaf with the lowest free slot; taken is null if all are taken.
    [[nodiscard]] leaf lowest_open() const noexcept {
        if (!exists()) return {};
        const std::size_t found = tree_.lowest_open();
        return found < leaf_count() ? leaf_at(found) : leaf{};
    }

    // Effects: adds slots. Returns: their first leaf; taken is null if there are no addresses or no memory, and nothing
    // has changed.
    [[nodiscard]] leaf grow() noexcept {
        if (!exists() && !reserve()) return {};
        const std::size_t old = leaf_count();
        const std::size_t most = tree_.leaf_count();
        if (old == most) return {};
        const std::size_t step = std::max({std::size_t{1}, least_step_bytes / leaf_bytes, old / 8});
        if (!commit(std::min(most, old + step)) && !commit(old + 1)) return {};
        return leaf_at(old);
    }

    // Effects: takes all free slots of the leaf, whose pages will be used now. Returns: a one for each of those slots.
    [[nodiscard]] word check_out(const leaf& out) noexcept {
        const std::size_t number = number_of(out.taken);
        const std::size_t slot = number << tree::shift;
        const std::size_t first = page_of(slot), end = page_after(slot, tree::bits);
        if (empty_pages_ != 0) empty_pages_ -= std::min(empty_pages_, count_empty(first, end));
        const word free = static_cast<word>(~*out.taken);
        *out.taken = tree::full;
        tree_.fill(number);
        touch(first, end);
        return free;
    }

    // Effects: notes that the leaf has free slots.
    void open(const word* taken) noexcept { tree_.open(number_of(taken)); }

    // Effects: notes which pages have become empty, now that slots [slot, slot + count) are free.
    void note_free(std::size_t slot, std::size_t count) noexcept {
        const std::size_t end = page_after(slot, count);
        for (std::size_t page = page_of(slot); page < end; ++page) {
            if (!is_used(page) || !is_empty(page)) continue;
            ++empty_pages_;
            first_empty_ = std::min(first_empty_, page);
            last_empty_ = std::max(last_empty_, page);
        }
    }

    [[nodiscard]] bool wants_sweep() const noexcept {
        return empty_pages_ > least_swept_ && empty_pages_ > used_pages_ / 16;
    }

    // Effects: gives the memory of empty pages back. No leaf may be checked out.
    void sweep() noexcept {
        // The page before them may have become empty unnoticed, if slots cross the ends of pages; the pages behind were
        // populated along with them.
        const std::size_t first = first_empty_ - (first_empty_ != 0 ? 1 : 0);
        const std::size_t last = std::min(pages(), last_empty_ + 2 + populated_bytes / page_bytes_);
        std::size_t run = first, end = first;  // a run of empty pages
        for (std::size_t page = next_used(first, last); page < last; page = next_used(page + 1, last)) {
            if (!is_empty(page)) continue;
            if (page != end) {
                give_back(run, end);
                run = page;
            }
            end = page + 1;
        }
        give_back(run, end);
        give_back_leaves(first, last);
        shrink();
        forget_empty();
    }

    // Effects: the same for all pages, now.
    void trim() noexcept {
        if (pages() == 0) return;
        first_empty_ = 0;
        last_empty_ = pages() - 1;
        sweep();
    }

    // Effects: frees all slots; the memory stays.
    void reset() noexcept {
        if (!exists()) return;
        std::fill(map_ - tree::inner_words(tree_.leaf_count()), map_, word{0});
        std::fill(leaves_, leaves_ + leaf_count(), word{0});
        poison(slots_.data(), extent_);
        forget_empty();
    }

    // Effects: gives everything back to the system.
    void release() noexcept {
        slots_ = {};
        books_ = {};
        tree_ = {};
        leaves_ = map_ = nullptr;
        begin_ = extent_ = used_pages_ = 0;
        forget_empty();
    }

    // Effects: calls each(leaf) for every leaf.
    template <class Each>
    void for_each_leaf(Each each) const {
        for (std::size_t number = 0; number < leaf_count(); ++number) each(leaf_at(number));
    }

    // Returns: the pages of slots that may hold memory, and their bytes with those of the books.
    [[nodiscard]] std::size_t used_pages() const noexcept { return used_pages_; }
    [[nodiscard]] std::size_t held_bytes() const noexcept { return used_pages_ * page_bytes_ + books_.committed(); }

  private:
    [[nodiscard]] std::size_t leaf_count() const noexcept { return extent_ / leaf_bytes; }
    [[nodiscard]] std::size_t number_of(const word* taken) const noexcept {
        return static_cast<std::size_t>(taken - leaves_);
    }
    [[nodiscard]] leaf leaf_at(std::size_t number) const noexcept {
        return {leaves_ + number, reinterpret_cast<char*>(begin_) + number * leaf_bytes, tree::bits};
    }

    // The map of pages has a bit for each page of slots: 1 if it may hold memory.
    [[nodiscard]] std::size_t pages() const noexcept { return slots_.committed() / page_bytes_; }
    [[nodiscard]] word& map_of(std::size_t page) const noexcept { return map_[page / tree::bits]; }
    [[nodiscard]] bool is_used(std::size_t page) const noexcept { return (map_of(page) & tree::bit_of(page)) != 0; }
    [[nodiscard]] std::size_t page_of(std::size_t slot) const noexcept { return slot * slot_bytes / page_bytes_; }
    [[nodiscard]] std::size_t page_after(std::size_t slot, std::size_t count) const noexcept {
        return ((slot + count) * slot_bytes - 1) / page_bytes_ + 1;
    }
    [[nodiscard]] std::size_t count_empty(std::size_t page, std::size_t end) const noexcept {
        std::size_t count = 0;
        for (; page < end; ++page) count += is_used(page) && is_empty(page);
        return count;
    }
    [[nodiscard]] std::size_t next_used(std::size_t page, std::size_t last) const noexcept {
        while (page < last) {
            const word rest = static_cast<word>(map_of(page) >> (page % tree::bits));
            if (rest != 0) return std::min(last, page + static_cast<std::size_t>(std::countr_zero(rest)));
            page += tree::bits - page % tree::bits;
        }
        return last;
    }

    // Returns: true if no slot that touches the page is taken.
    [[nodiscard]] bool is_empty(std::size_t page) const noexcept {
        const std::size_t first = page * page_bytes_ / slot_bytes;
        const std::size_t last = std::min(((page + 1) * page_bytes_ - 1) / slot_bytes, leaf_count() * tree::bits - 1);
        if (first > last) return true;  // behind the last leaf
        std::size_t number = first >> tree::shift;
        const std::size_t end = last >> tree::shift;
        const word until_last = static_cast<word>(tree::full >> (tree::bits - 1 - (last & (tree::bits - 1))));
        word any = static_cast<word>(leaves_[number] & (tree::full << (first & (tree::bits - 1))));
        if (number == end) return (any & until_last) == 0;
        while (++number < end) any |= leaves_[number];
        return (any | (leaves_[end] & until_last)) == 0;
    }

    // Effects: marks the pages [first, last), all in use and empty, as no longer in use.
    void give_back(std::size_t first, std::size_t last) noexcept {
        slots_.discard(first * page_bytes_, last * page_bytes_);
        for (std::size_t page = first; page < last; ++page) map_of(page) &= static_cast<word>(~tree::bit_of(page));
        used_pages_ -= last - first;
    }

    // Effects: gives the memory of these pages' leaves back, as far as whole pages of them are zero.
    void give_back_leaves(std::size_t first, std::size_t last) noexcept {
        const std::size_t words = page_bytes_ / sizeof(word);
        const std::size_t end = std::min(leaf_count(), last * page_bytes_ / leaf_bytes + 1);
        for (std::size_t from = first * page_bytes_ / leaf_bytes / words * words; from < end; from += words) {
            const std::size_t to = std::min(from + words, leaf_count());
            if (std::any_of(leaves_ + from, leaves_ + to, [](word w) { return w != 0; })) continue;
            const std::size_t offset = leaves_offset() + from * sizeof(word);
            books_.discard(offset, offset + page_bytes_);
        }
    }

    // Effects: returns the charge of the memory far behind the last page in use.
    void shrink() noexcept {
        std::size_t map = pages() / tree::bits + 1;
        while (map > 0 && map_[map - 1] == 0) --map;
        std::size_t end = 0;  // end of the leaves that touch used pages
        if (map > 0) {
            const std::size_t last = map * tree::bits - 1 - static_cast<std::size_t>(std::countl_zero(map_[map - 1]));
            end = std::min(extent_, (((last + 1) * page_bytes_ - 1) / leaf_bytes + 1) * leaf_bytes);
        }
        const std::size_t spare = extent_ - end;
        if (spare < least_decommit_bytes || spare < extent_ / 2) return;
        slots_.decommit_to(end + spare / 4);
        set_extent();
        books_.decommit_to(leaves_offset() + leaf_count() * sizeof(word));
    }

    // Effects: marks the pages [page, end), and some behind them, as in use.
    void touch(std::size_t page, std::size_t end) noexcept {
        while (page < end && is_used(page)) ++page;
        if (page == end) return;
        const std::size_t first = page;
        const std::size_t last = std::min(pages(), std::max(end, page + populated_bytes / page_bytes_));
        for (; page < last && (page < end || !is_used(page)); ++page) {
            if (is_used(page)) continue;
            map_of(page) |= tree::bit_of(page);
            ++used_pages_;
        }
        slots_.populate(first * page_bytes_, page * page_bytes_);
    }

    [[nodiscard]] std::size_t leaves_offset() const noexcept {
        return static_cast<std::size_t>(reinterpret_cast<std::byte*>(leaves_) - books_.data());
    }

    // Effects: reserves the addresses. Returns: false if there are too few to be worthwhile.
    [[nodiscard]] bool reserve() noexcept {
        page_bytes_ = Pages::size();
        least_swept_ = least_sweep_bytes / page_bytes_;
        const std::size_t wanted = std::min(most_bytes / leaf_bytes, tree::most_leaves) * leaf_bytes;
        basic_reservation<Pages> slots(wanted);
        // If addresses are scarce, it leaves some to others, above all to the books.
        if (slots.size() < wanted) slots = basic_reservation<Pages>(std::exchange(slots, {}).size() / 4);
        const std::size_t leaves = std::min(slots.size() / leaf_bytes, tree::most_leaves);
        if (leaves == 0) return false;
        const std::size_t map = slots.size() / page_bytes_ / tree::bits + 1;
        const std::size_t before = align_up((tree::inner_words(leaves) + map) * sizeof(word), page_bytes_);
        basic_reservation<Pages> books(before + leaves * sizeof(word));
        if (books.size() < before + leaves * sizeof(word) || !books.commit_to(before)) return false;
        static_cast<void>(slots.advise_huge(false));
        slots.name("compact_pool");
        books.name("compact_pool's own");
        slots_ = std::move(slots);
        books_ = std::move(books);
        leaves_ = reinterpret_cast<word*>(books_.data() + before);
        map_ = leaves_ - map;
        tree_ = tree(map_ - tree::inner_words(leaves), leaves_, leaves);
        begin_ = reinterpret_cast<std::uintptr_t>(slots_.data());
        return true;
    }

    // Effects: ensures that there are at least `leaves` leaves. Returns: false if there is no memory for them.
    [[nodiscard]] bool commit(std::size_t leaves) noexcept {
        const std::size_t bytes = align_up(leaves * leaf_bytes, page_bytes_);
        const std::size_t old = slots_.committed();
        const std::size_t old_books = books_.committed();
        if (!books_.commit_to(leaves_offset() + std::min(bytes / leaf_bytes, tree_.leaf_count()) * sizeof(word)))
            return false;
        if (!slots_.commit_to(bytes)) {
            books_.decommit_to(old_books);
            return false;
        }
        poison(slots_.data() + old, slots_.committed() - old);
        set_extent();
        return true;
    }

    void set_extent() noexcept { extent_ = std::min(slots_.committed() / leaf_bytes, tree_.leaf_count()) * leaf_bytes; }

    void forget_empty() noexcept {
        empty_pages_ = last_empty_ = 0;
        first_empty_ = std::numeric_limits<std::size_t>::max();
    }

    std::uintptr_t begin_ = 0;
    std::size_t extent_ = 0;
    word* leaves_ = nullptr;
    word* map_ = nullptr;
    tree tree_;
    std::size_t page_bytes_ = 4096;
    std::size_t used_pages_ = 0;
    // The pages in use that are known to have become empty since the last sweep.
    std::size_t empty_pages_ = 0, first_empty_ = 0, last_empty_ = 0;
    std::size_t least_swept_ = 0;  // pages
    basic_reservation<Pages> slots_;
    basic_reservation<Pages> books_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
