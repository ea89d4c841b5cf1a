// SPDX-License-Identifier: BSL-1.0
#include "preload/page_runs.hpp"

#include <string.h>

#include <bit>
#include <initializer_list>

namespace millpond::preload {

bool page_runs::is_here(std::uint32_t page) const noexcept {
    const slab_owner owner = map_->owner_of(address_of(page));
    return owner.size_class == size_class_ && owner.pool == pool_ && owner.block_bytes != 0;
}

page_runs::links page_runs::links_of(std::uint32_t page) const noexcept {
    links found;
    memcpy(&found, map_->page_word(page + 1), sizeof found);
    return found;
}

void page_runs::set_links(std::uint32_t page, links to) noexcept { memcpy(map_->page_word(page + 1), &to, sizeof to); }

void page_runs::set_words(std::uint32_t first, std::uint32_t pages, std::uint16_t marks) noexcept {
    const auto word = static_cast<std::uint16_t>(pages | marks);
    __atomic_store_n(map_->page_word(first), word, __ATOMIC_RELAXED);
    __atomic_store_n(map_->page_word(first + pages - 1), word, __ATOMIC_RELAXED);
}

void page_runs::insert(std::uint32_t first, std::uint32_t pages, bool is_untouched) noexcept {
    if (pages == 0) return;
    set_words(first, pages, is_untouched ? untouched_mark : std::uint16_t{0});
    free_pages_ += pages;
    if (pages < least_pages) return;
    std::uint32_t& head = heads_[is_untouched][list_of(pages)];
    set_links(first, {head, none});
    if (head != none) set_links(head, {links_of(head).next, first});
    head = first;
    filled_[is_untouched][list_of(pages) / 64] |= std::uint64_t{1} << list_of(pages) % 64;
}

void page_runs::remove(std::uint32_t first) noexcept {
    const std::uint16_t word = *map_->page_word(first);
    const std::uint32_t pages = word & length_mask;
    free_pages_ -= pages;
    if (pages < least_pages) return;
    const bool is_untouched = (word & untouched_mark) != 0;
    const links its = links_of(first);
    std::uint32_t& head = heads_[is_untouched][list_of(pages)];
    if (its.next != none) set_links(its.next, {links_of(its.next).next, its.previous});
    if (its.previous != none)
        set_links(its.previous, {its.next, links_of(its.previous).previous});
    else
        head = its.next;
    if (head == none) filled_[is_untouched][list_of(pages) / 64] &= ~(std::uint64_t{1} << list_of(pages) % 64);
}

std::uint32_t page_runs::next_filled(std::uint32_t list, bool is_untouched) const noexcept {
    if (list >= lists) return lists;
    const auto& filled = filled_[is_untouched];
    std::uint64_t bits = filled[list / 64] >> list % 64 << list % 64;
    for (list /= 64; bits == 0; bits = filled[list])
        if (++list == sizeof filled / sizeof filled[0]) return lists;
    return list * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
}

std::uint32_t page_runs::find(std::uint32_t pages, bool is_untouched) const noexcept {
    for (std::uint32_t list = list_of(pages); (list = next_filled(list, is_untouched)) != lists; ++list)
        for (std::uint32_t each = heads_[is_untouched][list]; each != none; each = links_of(each).next)
            if (length_of(each) >= pages) return each;
    return none;
}

void page_runs::add(slabs more, bool is_untouched) noexcept {
    map_->assign(more.first, more.count, {page_bytes, pool_, size_class_});
    free(page_of(more.first), more.count * slab_pages, is_untouched);
}

char* page_runs::take(std::uint32_t pages, bool& is_zero) noexcept {
    is_zero = false;
    std::uint32_t first = find(pages, false);
    if (first == none) {
        first = find(pages, true);
        if (first == none) return nullptr;
        is_zero = true;
    }
    const std::uint32_t held = length_of(first);
    remove(first);
    set_words(first, pages, used_mark);
    insert(first + pages, held - pages, is_zero);
    return address_of(first);
}

char* page_runs::take_aligned(std::uint32_t pages, std::uint32_t alignment_pages, bool& is_zero) noexcept {
    char* const block = take(pages + alignment_pages - 1, is_zero);
    if (block == nullptr) return nullptr;
    const std::uint32_t first = page_of(block), held = pages + alignment_pages - 1;
    const std::uint32_t start = (first + alignment_pages - 1) & ~(alignment_pages - 1);
    set_words(start, pages, used_mark);
    // The run before is in use or does not exist; otherwise take would have found both as one. The part behind is in
    // use too, or is the rest of this run.
    insert(first, start - first, is_zero);
    if (const std::uint32_t behind = start + pages; behind != first + held)
        free(behind, first + held - behind, is_zero);
    return address_of(start);
}

std::size_t page_runs::put(char* block) noexcept {
    const std::uint32_t first = page_of(block);
    const std::uint16_t word = *map_->page_word(first);
    if ((word & used_mark) == 0) return 0;
    free(first, word & length_mask, false);
    return (word & length_mask) * page_bytes;
}

void page_runs::free(std::uint32_t first, std::uint32_t pages, bool is_untouched) noexcept {
    if (first != 0 && is_here(first - 1)) {
        const std::uint16_t before = *map_->page_word(first - 1);
        if ((before & used_mark) == 0 && pages + (before & length_mask) <= length_mask) {
            first -= before & length_mask;
            pages += before & length_mask;
            is_untouched = is_untouched && (before & untouched_mark) != 0;
            remove(first);
        }
    }
    if (is_here(first + pages)) {
        const std::uint16_t behind = *map_->page_word(first + pages);
        if ((behind & used_mark) == 0 && pages + (behind & length_mask) <= length_mask) {
            remove(first + pages);
            pages += behind & length_mask;
            is_untouched = is_untouched && (behind & untouched_mark) != 0;
        }
    }
    insert(first, pages, is_untouched);
}

bool page_runs::grow(char* block, std::uint32_t pages) noexcept {
    const std::uint32_t first = page_of(block), held = *map_->page_word(first) & length_mask;
    const std::uint32_t behind = first + held;
    if (pages > largest_pages || !is_here(behind)) return false;
    const std::uint16_t next = *map_->page_word(behind);
    const std::uint32_t free_pages = next & length_mask;
    if ((next & used_mark) != 0 || held + free_pages < pages) return false;
    remove(behind);
    set_words(first, pages, used_mark);
    insert(first + pages, held + free_pages - pages, (next & untouched_mark) != 0);
    return true;
}

char* page_runs::cut(std::uint32_t run, std::uint32_t first, std::uint32_t count) noexcept {
    const std::uint16_t word = *map_->page_word(run);
    const std::uint32_t end = run + (word & length_mask), behind = first + count * slab_pages;
    remove(run);
    insert(run, first - run, (word & untouched_mark) != 0);
    insert(behind, end - behind, (word & untouched_mark) != 0);
    map_->assign(address_of(first), count, {});
    return address_of(first);
}

char* page_runs::take_slab() noexcept {
    for (const bool is_untouched : {false, true}) {
        for (std::uint32_t list = slab_pages; (list = next_filled(list, is_untouched)) != lists; ++list) {
            std::uint32_t each = heads_[is_untouched][list];
            for (unsigned i = 0; i < tries && each != none; ++i, each = links_of(each).next)
                if (slab_in(each) + slab_pages <= each + length_of(each)) return cut(each, slab_in(each), 1);
        }
    }
    return nullptr;
}

page_runs::slabs page_runs::take_from_longest(std::uint32_t slabs_max) noexcept {
    for (std::uint32_t list = lists; --list >= slab_pages;) {
        const std::uint32_t run = heads_[false][list];  // untouched pages hold no memory to return
        if (run == none) continue;
        const std::uint32_t first = slab_in(run), last = (run + length_of(run)) / slab_pages * slab_pages;
        if (last <= first) return {};
        const std::uint32_t held = (last - first) / slab_pages;
        const std::uint32_t taken = held < slabs_max ? held : slabs_max;
        return {cut(run, last - taken * slab_pages, taken), taken};
    }
    return {};
}

page_runs::slabs page_runs::take_whole_slabs() noexcept {
    for (const bool is_untouched : {false, true}) {
        for (std::uint32_t list = slab_pages; (list = next_filled(list, is_untouched)) != lists; ++list) {
            for (std::uint32_t each = heads_[is_untouched][list]; each != none; each = links_of(each).next) {
                const std::uint32_t first = slab_in(each), last = (each + length_of(each)) / slab_pages * slab_pages;
                if (first < last) {
                    const std::uint32_t count = (last - first) / slab_pages;
                    return {cut(each, first, count), count};
                }
            }
        }
    }
    return {};
}

}  // namespace millpond::preload
