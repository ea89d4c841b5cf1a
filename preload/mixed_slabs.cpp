// SPDX-License-Identifier: BSL-1.0
#include "preload/mixed_slabs.hpp"

#include <string.h>

#include <bit>

#include "preload/pages.hpp"

namespace millpond::preload {

std::uint32_t mixed_slabs::next_begin(const mixed_cuts& its, std::uint32_t at) noexcept {
    if (++at == mixed_cuts::granules) return at;
    std::uint32_t word = at / 64;
    std::uint64_t bits = __atomic_load_n(its.begins + word, __ATOMIC_RELAXED) >> at % 64;
    if (bits != 0) [[likely]]
        return at + static_cast<std::uint32_t>(std::countr_zero(bits));
    do {
        if (++word == mixed_cuts::words) return mixed_cuts::granules;
        bits = __atomic_load_n(its.begins + word, __ATOMIC_RELAXED);
    } while (bits == 0);
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
}

// `at` is not 0, because a piece always begins there.
std::uint32_t mixed_slabs::previous_begin(const mixed_cuts& its, std::uint32_t at) noexcept {
    std::uint32_t word = --at / 64;
    std::uint64_t bits = its.begins[word] & ~std::uint64_t{0} >> (63 - at % 64);
    while (bits == 0) bits = its.begins[--word];
    return word * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(bits));
}

std::uint32_t mixed_slabs::list_of(std::uint32_t granules) noexcept {
    if (granules <= exact) return granules;
    const auto width = static_cast<std::uint32_t>(std::bit_width(granules));
    return exact + (width - 7) * steps + (granules >> (width - 4)) % steps + 1;
}

std::uint32_t mixed_slabs::next_filled(std::uint32_t list) const noexcept {
    if (list >= lists) return lists;
    std::uint64_t bits = filled_[list / 64] >> list % 64 << list % 64;
    for (list /= 64; bits == 0; bits = filled_[list])
        if (++list == lists / 64) return lists;
    return list * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
}

void mixed_slabs::insert(piece* one, std::uint32_t granules) noexcept {
    const std::uint32_t list = list_of(granules);
    piece*& head = heads_[list];
    *one = {head, nullptr};
    if (head != nullptr) head->previous = one;
    head = one;
    filled_[list / 64] |= std::uint64_t{1} << list % 64;
}

void mixed_slabs::remove(piece* one, std::uint32_t granules) noexcept {
    const std::uint32_t list = list_of(granules);
    if (one->next != nullptr) one->next->previous = one->previous;
    if (one->previous != nullptr) {
        one->previous->next = one->next;
        return;
    }
    heads_[list] = one->next;
    if (one->next == nullptr) filled_[list / 64] &= ~(std::uint64_t{1} << list % 64);
}

mixed_cuts* mixed_slabs::take_cuts() noexcept {
    constexpr std::size_t at_once = std::size_t{64} << 10;
    if (mixed_cuts* const spare = spare_; spare != nullptr) {
        spare_ = spare->next_spare;
        return spare;
    }
    if (fresh_ == fresh_end_) {
        char* const more = take_pages<char>(at_once);
        if (more == nullptr) return nullptr;
        fresh_ = more;
        fresh_end_ = more + at_once;
    }
    auto* const next = reinterpret_cast<mixed_cuts*>(fresh_);
    fresh_ += sizeof(mixed_cuts);
    return next;
}

bool mixed_slabs::adopt(depot_slab& one, std::size_t block_bytes) noexcept {
    mixed_cuts* const its = take_cuts();
    if (its == nullptr) return false;
    memset(its, 0, sizeof *its);
    const auto step = static_cast<std::uint32_t>(block_bytes / mixed_cuts::granule);
    const std::uint32_t end = one.blocks * step;
    for (std::uint32_t at = 0; at != end; at += step) {
        set(its->begins, at);
        set(its->used, at);
    }
    for (const free_block* each = one.freed; each != nullptr; each = each->next) clear(its->used, granule_of(each));
    if (end != mixed_cuts::granules) {
        // The rest behind the last block. A page of it that was never touched stays untouched.
        set(its->begins, end);
        if (end * mixed_cuts::granule % slab_map::page_bytes == 0) set(its->used, end);
    }
    one.cuts = its;
    char* const slab = map_->slab_of(&one);
    for (std::uint32_t at = 0; at < mixed_cuts::granules;) {
        std::uint32_t behind = next_begin(*its, at);
        if (!is_set(its->used, at)) {
            while (behind != mixed_cuts::granules && !is_set(its->used, behind)) {
                clear(its->begins, behind);
                behind = next_begin(*its, behind);
            }
            insert(piece_at(slab, at), behind - at);
        }
        at = behind;
    }
    return true;
}

free_block* mixed_slabs::cut(piece* from, std::uint32_t length, std::uint32_t before, std::uint32_t granules) noexcept {
    depot_slab& one = slab_at(from);
    mixed_cuts& its = *one.cuts;
    char* const slab = map_->slab_of(&one);
    const std::uint32_t first = granule_of(from), end = first + length, start = first + before;
    remove(from, length);
    if (before != 0) {
        insert(from, before);
        set(its.begins, start);
    }
    if (start + granules != end) {
        set(its.begins, start + granules);
        insert(piece_at(slab, start + granules), end - start - granules);
    }
    set(its.used, start);
    ++one.out;
    return reinterpret_cast<free_block*>(piece_at(slab, start));
}

free_block* mixed_slabs::take(std::size_t bytes, std::size_t alignment_max) noexcept {
    const auto granules = static_cast<std::uint32_t>(bytes / mixed_cuts::granule);
    const std::size_t lowest = (bytes | alignment_max) & (0 - (bytes | alignment_max));
    const auto aligned = static_cast<std::uint32_t>(lowest / mixed_cuts::granule);
    for (std::uint32_t list = list_of(granules); (list = next_filled(list)) != lists; ++list) {
        piece* each = heads_[list];
        for (unsigned i = 0; i != tries && each != nullptr; ++i, each = each->next) {
            const std::uint32_t first = granule_of(each);
            const std::uint32_t before = (0 - first) % aligned;
            // In a list of one length no look at the cuts is needed.
            const std::uint32_t length = list <= exact ? list : next_begin(*slab_at(each).cuts, first) - first;
            if (before + granules <= length) return cut(each, length, before, granules);
        }
    }
    return nullptr;
}

depot_slab* mixed_slabs::put(free_block* freed) noexcept {
    depot_slab& one = slab_at(freed);
    mixed_cuts& its = *one.cuts;
    char* const slab = map_->slab_of(&one);
    std::uint32_t first = granule_of(freed);
    if (!is_set(its.used, first)) return nullptr;  // freed before
    clear(its.used, first);
    std::uint32_t end = next_begin(its, first);
    if (end != mixed_cuts::granules && !is_set(its.used, end)) {
        const std::uint32_t behind = next_begin(its, end);
        remove(piece_at(slab, end), behind - end);
        clear(its.begins, end);
        end = behind;
    }
    if (first != 0) {
        const std::uint32_t before = previous_begin(its, first);
        if (!is_set(its.used, before)) {
            remove(piece_at(slab, before), first - before);
            clear(its.begins, first);
            first = before;
        }
    }
    if (--one.out != 0) {
        insert(piece_at(slab, first), end - first);
        return nullptr;
    }
    // All free pieces have merged into this one.
    its.next_spare = spare_;
    spare_ = &its;
    return &one;
}

std::size_t mixed_slabs::bytes_of(const void* block) const noexcept {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);  // the owner field that marks the slab as mixed was written after its cuts
    const std::uint32_t first = granule_of(block);
    return (next_begin(*slab_at(block).cuts, first) - first) * mixed_cuts::granule;
}

}  // namespace millpond::preload
