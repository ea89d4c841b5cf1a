// SPDX-License-Identifier: BSL-1.0
// page_runs: the pages of a pool that belong to no class: blocks of whole pages, and free pages for blocks or slabs.
//
//   slabs   │ 64 KiB          │ 64 KiB          │ 64 KiB          │        owner in the slab map: the class of runs
//   runs    │▒▒ 40 KiB ▒▒│▒▒▒▒▒▒▒ 100 KiB ▒▒▒▒▒▒▒▒▒▒│ free         │
//   words    L            L   a word for each page: the first and the last of a run have its length and state
//
//   lists by length   6 ▸ ▸   7 ▸   …   159   160 to 255 ▸   256 to 511   …     touched runs and untouched ones apart
//
// A block wastes less than a page. Freed neighbours are joined, up to 64 MiB. The shortest run that is long enough
// serves a request, preferably one whose pages were touched before. Its rest stays free; a rest that is too short waits
// for its neighbours. So small and large blocks use each other's free pages before the system is asked for more. The
// pool decides which slabs go back to the system. Nothing is written to free memory: the words lie in the map's notes,
// and the links of a free run in the words of its second to fifth page.
//
// Cost: constant, except that from 160 pages on a list is searched. Not thread-safe: the pool's lock for slabs
// serialises it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "preload/slab_map.hpp"

namespace millpond::preload {

class page_runs {
  public:
    static constexpr std::size_t page_bytes = slab_map::page_bytes;
    static constexpr std::uint32_t slab_pages = slab_map::slab_bytes / page_bytes;
    // Blocks of fewer pages are better served by a class; a shorter rest is in no list.
    static constexpr std::uint32_t least_pages = 6;
    static constexpr std::uint32_t largest_pages = slab_map::extent_bytes_max / page_bytes;

    struct slabs {
        char* first = nullptr;
        std::uint32_t count = 0;
    };

    // `pool`, `size_class`: the owner of the slabs here, in the map.
    constexpr page_runs(slab_map& map, std::uint16_t pool, std::uint8_t size_class) noexcept
        : map_(&map), pool_(pool), size_class_(size_class) {
        for (auto& of_state : heads_)
            for (std::uint32_t& head : of_state) head = none;
    }
    page_runs(const page_runs&) = delete;
    page_runs& operator=(const page_runs&) = delete;

    // Adds slabs without an owner, which become free pages. At most an extent.
    void add(slabs more, bool is_untouched) noexcept;
    // Returns: a slab made of free pages, without an owner; null if there are too few.
    [[nodiscard]] char* take_slab() noexcept;
    // Returns: at most `slabs_max` (not 0) whole slabs of a run of the longest list, without an owner; no slabs if no
    // run has one.
    [[nodiscard]] slabs take_from_longest(std::uint32_t slabs_max) noexcept;

    // Returns: all whole slabs of one run, touched or not, without an owner; none where no run has one.
    [[nodiscard]] slabs take_whole_slabs() noexcept;

    // Returns: a block of least_pages to largest_pages; null if no free run is long enough. `is_zero`: set if its pages
    // were never touched.
    [[nodiscard]] char* take(std::uint32_t pages, bool& is_zero) noexcept;
    // The same as take, aligned to so many pages: a power of two.
    [[nodiscard]] char* take_aligned(std::uint32_t pages, std::uint32_t alignment_pages, bool& is_zero) noexcept;
    // Returns: its bytes; 0 if it is not a block, because it was freed before.
    std::size_t put(char* block) noexcept;
    // Effects: extends the block to so many pages, if those behind it are free. Returns: whether it did.
    [[nodiscard]] bool grow(char* block, std::uint32_t pages) noexcept;

    [[nodiscard]] std::size_t bytes_of(const void* block) const noexcept {
        return (__atomic_load_n(map_->page_word(page_of(block)), __ATOMIC_RELAXED) & length_mask) * page_bytes;
    }
    [[nodiscard]] std::size_t free_bytes() const noexcept { return free_pages_ * page_bytes; }

    // Calls visit(pages, is_free) for each run of one slab, slab by slab in the order of addresses. `from` keeps the
    // place where the runs of the last call ended.
    template <class Visit>
    void for_each_run(const void* slab, std::uint32_t& from, Visit&& visit) const {
        const std::uint32_t first = page_of(slab), last = first + slab_pages;
        if (from < first) from = first;
        while (from < last) {
            const std::uint16_t word = *map_->page_word(from);
            const std::uint32_t pages = word & length_mask;
            if (pages == 0) return;
            visit(pages, (word & used_mark) == 0);
            from += pages;
        }
    }

    // Calls visit(length) for each list that has a free run.
    template <class Visit>
    void for_each_list(Visit&& visit) const {
        for (const bool is_untouched : {false, true})
            for (std::uint32_t list = 0; (list = next_filled(list, is_untouched)) != lists; ++list) {
                std::size_t length = 0;
                for (std::uint32_t each = heads_[is_untouched][list]; each != none; each = links_of(each).next)
                    ++length;
                visit(length);
            }
    }

  private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    static constexpr std::uint16_t used_mark = 0x8000, untouched_mark = 0x4000, length_mask = 0x3fff;
    static constexpr std::uint32_t exact_pages = 160;
    static constexpr std::uint32_t lists = exact_pages + 7;  // up to length_mask
    // The most runs examined for an aligned slab in a list whose runs may be too short for one.
    static constexpr unsigned tries = 4;

    struct links {
        std::uint32_t next, previous;
    };

    [[nodiscard]] std::uint32_t page_of(const void* p) const noexcept { return map_->page_of(p); }
    [[nodiscard]] char* address_of(std::uint32_t page) const noexcept { return map_->page_at(page); }
    [[nodiscard]] bool is_here(std::uint32_t page) const noexcept;
    [[nodiscard]] links links_of(std::uint32_t page) const noexcept;
    void set_links(std::uint32_t page, links to) noexcept;
    void set_words(std::uint32_t first, std::uint32_t pages, std::uint16_t marks) noexcept;
    static std::uint32_t list_of(std::uint32_t pages) noexcept {
        return pages < exact_pages ? pages : exact_pages + static_cast<std::uint32_t>(std::bit_width(pages)) - 8;
    }
    [[nodiscard]] std::uint32_t length_of(std::uint32_t first) const noexcept {
        return *map_->page_word(first) & length_mask;
    }
    // Returns: the first list from `list` on that has a run; `lists` if all are empty.
    [[nodiscard]] std::uint32_t next_filled(std::uint32_t list, bool is_untouched) const noexcept;
    void insert(std::uint32_t first, std::uint32_t pages, bool is_untouched) noexcept;
    void remove(std::uint32_t first) noexcept;
    [[nodiscard]] std::uint32_t find(std::uint32_t pages, bool is_untouched) const noexcept;
    void free(std::uint32_t first, std::uint32_t pages, bool is_untouched) noexcept;
    // Returns the first page of the run's first whole slab, which may lie behind the run.
    static std::uint32_t slab_in(std::uint32_t first) noexcept {
        return (first + slab_pages - 1) / slab_pages * slab_pages;
    }
    // Effects: removes these slabs from a free run.
    char* cut(std::uint32_t run, std::uint32_t first, std::uint32_t count) noexcept;

    slab_map* map_;
    std::size_t free_pages_ = 0;
    std::uint64_t filled_[2][lists / 64 + 1] = {};  // a bit for each list that has a run
    std::uint32_t heads_[2][lists] = {};            // [1]: untouched runs
    std::uint16_t pool_;
    std::uint8_t size_class_;
};

}  // namespace millpond::preload
