// SPDX-License-Identifier: BSL-1.0
#include "preload/slab_map.hpp"

#include <string.h>
#include <sys/mman.h>

namespace millpond::preload {
namespace {

constexpr std::size_t rounded_up(std::size_t value, std::size_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
}

// The tables grow in steps of this size: a multiple of every page size in use, and smaller than the slabs that it
// describes.
constexpr std::size_t table_step_bytes = slab_map::slab_bytes;

constexpr int order_of(std::uint32_t slabs) noexcept {
    int order = 0;
    while ((std::uint32_t{1} << order) < slabs) ++order;
    return order;
}

}  // namespace

bool slab_map::reserve(std::size_t bytes_max, std::size_t bytes_min) noexcept {
    static_assert(sizeof(link) == sizeof(std::uint64_t));
    for (std::size_t bytes = bytes_max / extent_bytes_max * extent_bytes_max; bytes >= bytes_min && bytes > 0;
         bytes = bytes / 2 / extent_bytes_max * extent_bytes_max) {
        const std::size_t table_bytes = rounded_up(bytes / slab_bytes * sizeof(link), table_step_bytes);
        // The range starts at an extent's boundary somewhere in the first extent_bytes_max of the mapping.
        const std::size_t whole = bytes + extent_bytes_max + 2 * table_bytes;
        void* const mapped = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) continue;
        base_ = rounded_up(reinterpret_cast<std::uintptr_t>(mapped), extent_bytes_max);
        owners_ = reinterpret_cast<std::uint64_t*>(base_ + bytes);
        links_ = reinterpret_cast<link*>(base_ + bytes + table_bytes);
        reserved_bytes_ = bytes;
        mapping_ = mapped;
        mapping_bytes_ = whole;
        return true;
    }
    return false;
}

void slab_map::unreserve() noexcept {
    if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
    __atomic_store_n(&accessible_bytes_, 0, __ATOMIC_RELAXED);
    table_accessible_bytes_ = reserved_bytes_ = 0;
    mapping_ = nullptr;
    for (auto& head : free_) head = none;
    free_huge_ = none;
}

bool slab_map::make_accessible(std::size_t bytes) noexcept {
    const std::size_t begin = accessible_bytes_;
    if (bytes > reserved_bytes_ - begin) return false;
    const std::size_t table_bytes = rounded_up((begin + bytes) / slab_bytes * sizeof(link), table_step_bytes);
    if (table_bytes > table_accessible_bytes_) {
        const std::size_t more = table_bytes - table_accessible_bytes_;
        char* const owners = reinterpret_cast<char*>(owners_) + table_accessible_bytes_;
        char* const links = reinterpret_cast<char*>(links_) + table_accessible_bytes_;
        if (mprotect(owners, more, PROT_READ | PROT_WRITE) != 0) return false;
        if (mprotect(links, more, PROT_READ | PROT_WRITE) != 0) return false;
        table_accessible_bytes_ = table_bytes;
    }
    if (mprotect(reinterpret_cast<void*>(base_ + begin), bytes, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(&accessible_bytes_, begin + bytes, __ATOMIC_RELAXED);
    return true;
}

std::uint32_t slab_map::rounded(std::uint32_t slabs, bool huge_pages) noexcept {
    if (huge_pages || slabs > extent_slabs_max)
        return (slabs + extent_slabs_max - 1) / extent_slabs_max * extent_slabs_max;
    return std::uint32_t{1} << order_of(slabs);
}

void* slab_map::take_frontier(std::uint32_t slabs, bool huge_pages) noexcept {
    const auto index = static_cast<std::uint32_t>(accessible_bytes_ / slab_bytes);
    if (!make_accessible(slabs * slab_bytes)) return nullptr;
    void* const first = address_of(index);
    if (huge_pages) {
        madvise(first, slabs * slab_bytes, MADV_HUGEPAGE);  // without such pages in the kernel: ordinary ones
        for (std::uint32_t i = 0; i < slabs; ++i) store(index + i, huge_mark);
    }
    return first;
}

void* slab_map::take(std::uint32_t slabs, bool huge_pages) noexcept {
    if (slabs == 0 || slabs > reserved_bytes_ / slab_bytes) return nullptr;
    slabs = rounded(slabs, huge_pages);
    if (slabs > extent_slabs_max) return take_frontier(slabs, huge_pages);
    if (huge_pages) {
        const std::uint32_t index = free_huge_;
        if (index == none) return take_frontier(slabs, true);
        unlink(index, orders - 1, true);
        return address_of(index);
    }
    const int wanted = order_of(slabs);
    int order = wanted;
    while (order < orders && free_[order] == none) ++order;
    std::uint32_t index;
    if (order < orders) {
        index = pop(order);
    } else {
        void* const extent = take_frontier(extent_slabs_max, false);
        if (extent == nullptr) return nullptr;
        index = index_of(extent);
        order = orders - 1;
    }
    while (order > wanted) {
        --order;
        push(index + (std::uint32_t{1} << order), order, false);
    }
    return address_of(index);
}

void slab_map::assign(void* first, std::uint32_t slabs, slab_owner owner) noexcept {
    const std::uint32_t index = index_of(first);
    const std::uint64_t entry = owner.block_bytes | std::uint64_t{owner.pool} << 32;
    for (std::uint32_t i = index; i < index + slabs; ++i) store(i, entry | (owners_[i] & huge_mark));
}

void slab_map::give_back(void* first, std::uint32_t slabs) noexcept {
    assign(first, slabs, {});
    // Memory that is locked cannot be dropped.
    if (madvise(first, slabs * slab_bytes, MADV_DONTNEED) != 0) memset(first, 0, slabs * slab_bytes);
    std::uint32_t index = index_of(first);
    const bool huge = (owners_[index] & huge_mark) != 0;
    while (slabs > 0) {
        const std::uint32_t part = slabs < extent_slabs_max ? slabs : extent_slabs_max;
        insert_merged(index, order_of(part), huge);
        index += part;
        slabs -= part;
    }
}

void slab_map::insert_merged(std::uint32_t index, int order, bool huge) noexcept {
    while (order < orders - 1) {
        const std::uint32_t buddy = index ^ (std::uint32_t{1} << order);
        if (owners_[buddy] != (free_mark | static_cast<std::uint64_t>(order) << order_shift)) break;
        unlink(buddy, order, false);
        index = index < buddy ? index : buddy;
        ++order;
    }
    push(index, order, huge);
}

void slab_map::push(std::uint32_t index, int order, bool huge) noexcept {
    std::uint32_t& head = huge ? free_huge_ : free_[order];
    links_[index] = {head, none};
    if (head != none) links_[head].previous = index;
    head = index;
    store(index, free_mark | static_cast<std::uint64_t>(order) << order_shift | (huge ? huge_mark : 0));
}

void slab_map::unlink(std::uint32_t index, int order, bool huge) noexcept {
    const link at = links_[index];
    if (at.previous != none)
        links_[at.previous].next = at.next;
    else
        (huge ? free_huge_ : free_[order]) = at.next;
    if (at.next != none) links_[at.next].previous = at.previous;
    store(index, huge ? huge_mark : 0);
}

std::uint32_t slab_map::pop(int order) noexcept {
    const std::uint32_t index = free_[order];
    unlink(index, order, false);
    return index;
}

}  // namespace millpond::preload
