// SPDX-License-Identifier: BSL-1.0
#include "preload/slab_map.hpp"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <initializer_list>

#include "preload/address_gap.hpp"

namespace millpond::preload {
namespace {

constexpr std::size_t rounded_up(std::size_t value, std::size_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
}

// The tables grow in steps of this size: a multiple of every page size in use, and smaller than the slabs that they
// describe.
constexpr std::size_t table_step_bytes = slab_map::slab_bytes;

// A process may have 65 530 mappings by default.
constexpr unsigned unmappings_max = 4096;

constexpr int order_of(std::uint32_t slabs) noexcept {
    int order = 0;
    while ((std::uint32_t{1} << order) < slabs) ++order;
    return order;
}

}  // namespace

bool slab_map::place(std::size_t bytes_max, std::size_t bytes_min) noexcept {
    static_assert(sizeof(note) == note_bytes);
    for (std::size_t bytes = bytes_max / extent_bytes_max * extent_bytes_max; bytes >= bytes_min && bytes > 0;
         bytes = bytes / 2 / extent_bytes_max * extent_bytes_max) {
        if (in_some_gap(bytes, [&](std::uintptr_t start) { return place_at(start, bytes); })) return true;
    }
    return false;
}

// The tables lie below the slabs, each with room for the whole range.
bool slab_map::place_at(std::uintptr_t start, std::size_t bytes) noexcept {
    const std::size_t owners_bytes = rounded_up(bytes / slab_bytes * sizeof(std::uint64_t), table_step_bytes);
    const std::size_t notes_bytes = rounded_up(bytes / slab_bytes * sizeof(note), table_step_bytes);
    const std::uintptr_t first = rounded_up(start, extent_bytes_max);
    const std::uintptr_t base = rounded_up(first + owners_bytes + notes_bytes, extent_bytes_max);
    const std::size_t whole = base + bytes - first;
    // Under a limit of addresses the kernel refuses the whole range although it is free. Then only the places of the
    // first steps are examined, and later steps may still be refused.
    if (!is_free(first, whole)) {
        if (errno != ENOMEM) return false;
        for (const std::uintptr_t each : {first, first + owners_bytes, base})
            if (!is_free(each, table_step_bytes)) return false;
    }
    base_ = base;
    owners_ = reinterpret_cast<std::uint64_t*>(first);
    notes_ = reinterpret_cast<note*>(first + owners_bytes);
    range_bytes_ = bytes;
    return true;
}

void slab_map::unmap() noexcept {
    munmap(reinterpret_cast<void*>(base_), accessible_bytes_);
    munmap(owners_, owners_accessible_bytes_);
    munmap(notes_, notes_accessible_bytes_);
    __atomic_store_n(&accessible_bytes_, 0, __ATOMIC_RELAXED);
    owners_accessible_bytes_ = notes_accessible_bytes_ = range_bytes_ = 0;
    for (auto& head : free_) head = none;
    for (auto& head : unmapped_) head = none;
    __atomic_store_n(&unmapped_bytes_, 0, __ATOMIC_RELAXED);
    free_huge_ = none;
}

// If one table has grown and the other cannot, the growth stays: the next try finds it.
bool slab_map::grow_table(void* table, std::size_t& accessible, std::size_t needed) noexcept {
    needed = rounded_up(needed, table_step_bytes);
    if (needed <= accessible) return true;
    if (!map_at(reinterpret_cast<std::uintptr_t>(table) + accessible, needed - accessible, PROT_READ | PROT_WRITE))
        return false;
    accessible = needed;
    return true;
}

bool slab_map::make_accessible(std::size_t bytes) noexcept {
    const std::size_t begin = accessible_bytes_;
    if (bytes > range_bytes_ - begin) return false;
    const std::size_t slabs = (begin + bytes) / slab_bytes;
    if (!grow_table(owners_, owners_accessible_bytes_, slabs * sizeof(std::uint64_t)) ||
        !grow_table(notes_, notes_accessible_bytes_, slabs * sizeof(note)))
        return false;
    if (!map_at(base_ + begin, bytes, PROT_READ | PROT_WRITE)) return false;
    __atomic_store_n(&accessible_bytes_, begin + bytes, __ATOMIC_RELAXED);
    return true;
}

std::uint32_t slab_map::rounded(std::uint32_t slabs, bool huge_pages) noexcept {
    if (huge_pages || slabs > extent_slabs_max)
        return (slabs + extent_slabs_max - 1) / extent_slabs_max * extent_slabs_max;
    return std::uint32_t{1} << order_of(slabs);
}

// Takes a run at the frontier, aligned to its size, at most to an extent. The part before it becomes free.
void* slab_map::take_frontier(std::uint32_t slabs, bool huge_pages) noexcept {
    const auto frontier = static_cast<std::uint32_t>(accessible_bytes_ / slab_bytes);
    const std::uint32_t unit = slabs < extent_slabs_max ? slabs : extent_slabs_max;
    const std::uint32_t index = (frontier + unit - 1) / unit * unit;
    if (!make_accessible((index + slabs - frontier) * slab_bytes)) return nullptr;
    free_run(frontier, index - frontier);
    void* const first = address_of(index);
    if (huge_pages) {
        madvise(first, slabs * slab_bytes, MADV_HUGEPAGE);  // without such pages in the kernel: ordinary ones
        for (std::uint32_t i = 0; i < slabs; ++i) store(index + i, huge_mark);
    }
    return first;
}

// Frees untouched slabs: the largest aligned parts, in the order of addresses.
void slab_map::free_run(std::uint32_t index, std::uint32_t slabs) noexcept {
    while (slabs > 0) {
        int order = 0;
        while (order < orders - 1 && (index & (std::uint32_t{1} << order)) == 0 && slabs >> (order + 1) != 0) ++order;
        insert_merged(index, order, kind::mapped);
        index += std::uint32_t{1} << order;
        slabs -= std::uint32_t{1} << order;
    }
}

void* slab_map::take(std::uint32_t slabs, bool huge_pages) noexcept {
    if (slabs == 0 || slabs > range_bytes_ / slab_bytes) return nullptr;
    slabs = rounded(slabs, huge_pages);
    if (slabs > extent_slabs_max) return take_frontier(slabs, huge_pages);
    if (huge_pages) {
        const std::uint32_t index = free_huge_;
        if (index == none) return take_frontier(slabs, true);
        unlink(index, orders - 1, kind::huge);
        return address_of(index);
    }
    const int wanted = order_of(slabs);
    if (const std::uint32_t index = take_free(wanted, kind::mapped); index != none) return address_of(index);
    if (void* const mapped_again = take_unmapped(wanted)) return mapped_again;
    return take_frontier(slabs, false);
}

std::uint32_t slab_map::take_free(int wanted, kind of) noexcept {
    int order = wanted;
    while (order < orders && head_of(order, of) == none) ++order;
    if (order == orders) return none;
    const std::uint32_t index = head_of(order, of);
    unlink(index, order, of);
    while (order > wanted) {
        --order;
        push(index + (std::uint32_t{1} << order), order, of);
    }
    return index;
}

void* slab_map::take_unmapped(int wanted) noexcept {
    const std::uint32_t index = take_free(wanted, kind::unmapped);
    if (index == none) return nullptr;
    const std::size_t bytes = slab_bytes << wanted;
    if (!map_at(base_ + index * slab_bytes, bytes, PROT_READ | PROT_WRITE)) {
        insert_merged(index, wanted, kind::unmapped);
        return nullptr;
    }
    __atomic_store_n(&unmapped_bytes_, unmapped_bytes_ - bytes, __ATOMIC_RELAXED);
    return address_of(index);
}

// Unmaps the longest runs first. Each run may split a mapping, and a process has a limited number of mappings.
std::size_t slab_map::unmap_free() noexcept {
    std::size_t unmapped = 0;
    unsigned left = unmappings_max;
    for (int order = orders - 1; order >= 0; --order) {
        const std::size_t bytes = slab_bytes << order;
        std::uint32_t next = none;
        for (std::uint32_t index = free_[order]; index != none && left != 0; index = next, --left) {
            next = notes_[index].at.next;
            if (munmap(address_of(index), bytes) != 0) {
                left = 0;
                break;
            }
            unlink(index, order, kind::mapped);
            insert_merged(index, order, kind::unmapped);
            unmapped += bytes;
        }
    }
    __atomic_store_n(&unmapped_bytes_, unmapped_bytes_ + unmapped, __ATOMIC_RELAXED);
    return unmapped;
}

void slab_map::assign(void* first, std::uint32_t slabs, slab_owner owner) noexcept {
    const auto index = static_cast<std::uint32_t>(number_of(first));
    const std::uint64_t entry = packed_owner::of(owner).word;
    for (std::uint32_t i = index; i < index + slabs; ++i) store(i, entry | (owners_[i] & huge_mark));
}

void slab_map::give_back(void* first, std::uint32_t slabs) noexcept {
    assign(first, slabs, {});
    // Memory that is locked cannot be dropped.
    if (madvise(first, slabs * slab_bytes, MADV_DONTNEED) != 0) memset(first, 0, slabs * slab_bytes);
    auto index = static_cast<std::uint32_t>(number_of(first));
    const bool huge = (owners_[index] & huge_mark) != 0;
    while (slabs > 0) {
        int order = 0;
        while (order < orders - 1 && (index >> order & 1) == 0 && std::uint32_t{2} << order <= slabs) ++order;
        insert_merged(index, order, huge ? kind::huge : kind::mapped);
        index += std::uint32_t{1} << order;
        slabs -= std::uint32_t{1} << order;
    }
}

std::uint32_t& slab_map::head_of(int order, kind of) noexcept {
    return of == kind::huge ? free_huge_ : of == kind::unmapped ? unmapped_[order] : free_[order];
}

std::uint64_t slab_map::entry_of(int order, kind of) noexcept {
    return free_mark | static_cast<std::uint64_t>(order) << order_shift |
           (of == kind::huge       ? huge_mark
            : of == kind::unmapped ? unmapped_mark
                                   : 0);
}

void slab_map::insert_merged(std::uint32_t index, int order, kind of) noexcept {
    while (order < orders - 1) {
        const std::uint32_t buddy = index ^ (std::uint32_t{1} << order);
        if (buddy >= accessible_bytes_ / slab_bytes) break;  // not there yet
        if (owners_[buddy] != entry_of(order, of)) break;
        unlink(buddy, order, of);
        index = index < buddy ? index : buddy;
        ++order;
    }
    push(index, order, of);
}

void slab_map::push(std::uint32_t index, int order, kind of) noexcept {
    std::uint32_t& head = head_of(order, of);
    notes_[index].at = {head, none};
    if (head != none) notes_[head].at.previous = index;
    head = index;
    store(index, entry_of(order, of));
}

void slab_map::unlink(std::uint32_t index, int order, kind of) noexcept {
    const link at = notes_[index].at;
    if (at.previous != none)
        notes_[at.previous].at.next = at.next;
    else
        head_of(order, of) = at.next;
    if (at.next != none) notes_[at.next].at.previous = at.previous;
    store(index, of == kind::huge ? huge_mark : 0);
}

}  // namespace millpond::preload
