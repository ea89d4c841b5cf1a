// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/instance_blocks.hpp"

#include <string.h>

#include "lab/plan/arena_bound.hpp"
#include "preload/pages.hpp"

namespace millpond::trial {

using preload::slab_map;

void* instance_blocks::try_allocate(std::size_t bytes, std::size_t alignment, std::uintptr_t owner) noexcept {
    if (bytes - 1 >= bytes_max || alignment > granule) return nullptr;
    const std::size_t size = (bytes + granule - 1) & ~(granule - 1);
    instance* const its = latest_ != nullptr && latest_->owner == owner ? latest_ : find(owner);
    if (its == nullptr) return nullptr;
    latest_ = its;
    free_block*& freed = its->freed[size / granule];
    char* block;
    if (freed != nullptr) {
        block = reinterpret_cast<char*>(freed);
        freed = freed->next;
    } else {
        if (static_cast<std::size_t>(its->end - its->next) < size && !add_chunk(*its, size)) return nullptr;
        block = its->next;
        its->next += size;
        mark_end(its->next);
    }
    ++its->live_blocks;
    live_bytes_ += size;
    return block;
}

void instance_blocks::deallocate_block(void* block, std::size_t) noexcept {
    const std::size_t unit = index_of(block) * granule / unit_bytes;
    instance& its = instances_[slab_of(block).instance_of[unit]];
    const std::size_t size = usable_bytes(block);
    live_bytes_ -= size;
    auto* const freed = static_cast<free_block*>(block);
    freed->next = its.freed[size / granule];
    its.freed[size / granule] = freed;
    if (--its.live_blocks == 0 && its.chunks > 1) give_back(its, false);
}

std::size_t instance_blocks::usable_bytes(const void* block) noexcept {
    const slab& of = slab_of(block);
    const std::size_t first = index_of(block);
    std::size_t word = first / 64;
    std::uint64_t left = of.ends[word] >> first % 64;
    if (left != 0) return (1 + static_cast<std::size_t>(__builtin_ctzll(left))) * granule;
    do left = of.ends[++word];
    while (left == 0);
    return (word * 64 + static_cast<std::size_t>(__builtin_ctzll(left)) + 1 - first) * granule;
}

bool instance_blocks::start() noexcept {
    if (instances_ != nullptr) return true;
    constexpr std::size_t instances_bytes = instances_max * sizeof(instance);
    constexpr std::size_t index_bytes = (places + instances_max) * sizeof(std::uint16_t);
    index_ = preload::take_pages<std::uint16_t>(index_bytes);
    if (index_ == nullptr) return false;
    instances_ = preload::take_pages<instance>(instances_bytes);
    if (instances_ == nullptr) {
        preload::give_pages(index_, index_bytes);
        return false;
    }
    spare_ = index_ + places;
    for (std::uint32_t i = 0; i < instances_max; ++i) spare_[i] = static_cast<std::uint16_t>(instances_max - 1 - i);
    spares_ = instances_max;
    return true;
}

// Returns the owner's place in the index, or a free place for it.
std::size_t instance_blocks::place_of(std::uintptr_t owner) const noexcept {
    std::size_t place = owner * 0x9E3779B97F4A7C15u >> 51;
    static_assert(places == 1u << (64 - 51));
    while (index_[place] != 0 && instances_[index_[place] - 1].owner != owner) place = (place + 1) % places;
    return place;
}

instance_blocks::instance* instance_blocks::find(std::uintptr_t owner) noexcept {
    if (!start()) return nullptr;
    const std::size_t place = place_of(owner);
    return index_[place] != 0 ? instances_ + (index_[place] - 1) : make(owner);
}

instance_blocks::instance* instance_blocks::make(std::uintptr_t owner) noexcept {
    if (spares_ == 0) drop_empty();
    if (spares_ == 0) return nullptr;
    const std::uint16_t number = spare_[--spares_];
    instance& fresh = instances_[number];
    fresh = {};
    fresh.owner = owner;
    index_[place_of(owner)] = static_cast<std::uint16_t>(number + 1);
    return &fresh;
}

// Builds the index again, because entries cannot be removed from it.
void instance_blocks::drop_empty() noexcept {
    memset(index_, 0, places * sizeof *index_);
    for (std::uint32_t i = 0; i < instances_max; ++i) {
        instance& each = instances_[i];
        if (each.live_blocks != 0) {
            index_[place_of(each.owner)] = static_cast<std::uint16_t>(i + 1);
            continue;
        }
        give_back(each, true);
        spare_[spares_++] = static_cast<std::uint16_t>(i);
    }
    latest_ = nullptr;
}

// The rest of a chunk serves as a block of its size.
void instance_blocks::keep_tail(instance& its) noexcept {
    const auto left = static_cast<std::size_t>(its.end - its.next);
    if (left == 0 || left > bytes_max) return;
    auto* const tail = reinterpret_cast<free_block*>(its.next);
    mark_end(its.end);
    tail->next = its.freed[left / granule];
    its.freed[left / granule] = tail;
    its.next = its.end;
}

bool instance_blocks::add_chunk(instance& its, std::size_t needed) noexcept {
    unsigned count = 1;
    for (unsigned i = 0; i < its.chunks && count < units_of_chunk_max; ++i) count *= 2;
    if (count * unit_bytes < needed + sizeof(chunk)) count *= 2;
    if (count > units_of_chunk_max) count = units_of_chunk_max;
    char* const memory = take_units(count);
    if (memory == nullptr) return false;
    keep_tail(its);
    slab& of = slab_of(memory);
    const std::size_t first = index_of(memory) * granule / unit_bytes;
    for (unsigned i = 0; i < count; ++i) of.instance_of[first + i] = static_cast<std::uint16_t>(&its - instances_);
    auto* const fresh = reinterpret_cast<chunk*>(memory);
    *fresh = {its.last, count};
    its.last = fresh;
    ++its.chunks;
    its.next = memory + sizeof(chunk);
    its.end = memory + count * unit_bytes;
    return true;
}

// Returns a run of units in the latest slabs, else in a new one.
char* instance_blocks::take_units(unsigned count) noexcept {
    constexpr unsigned looks_max = 16;
    const std::uint64_t wanted = (std::uint64_t{1} << count) - 1;
    slab* each = first_slab_;
    for (unsigned looks = 0; looks < looks_max && free_units_ >= count; ++looks) {
        if (each == nullptr) each = add_slab();
        if (each == nullptr) return nullptr;
        std::uint64_t starts = each->free_units;  // where a run of `count` free units begins
        for (unsigned i = 1; i < count && starts != 0; ++i) starts &= each->free_units >> i;
        if (starts != 0) {
            const auto first = static_cast<unsigned>(__builtin_ctzll(starts));
            each->free_units &= ~(wanted << first);
            free_units_ -= count;
            return reinterpret_cast<char*>(each) + first * unit_bytes;
        }
        each = each->other;
    }
    slab* const fresh = add_slab();
    if (fresh == nullptr) return nullptr;
    fresh->free_units &= ~(wanted << 1);
    free_units_ -= count;
    return reinterpret_cast<char*>(fresh) + unit_bytes;
}

instance_blocks::slab* instance_blocks::add_slab() noexcept {
    using bound = plan::arena_bound;
    const std::size_t held = slabs_.used_bytes();
    if (held >= bound::held_bytes_min && held > bound::held_per_live_max * live_bytes_) {
        capped_bytes_ = held;
        capped_live_bytes_ = live_bytes_;
        return nullptr;
    }
    void* const memory = slabs_.try_allocate_slab(slab_map::slab_bytes, slab_map::slab_bytes, block_bytes_mark);
    if (memory == nullptr) return nullptr;
    auto* const fresh = static_cast<slab*>(memory);
    memset(fresh, 0, sizeof *fresh);
    fresh->free_units = ~std::uint64_t{1};
    fresh->other = first_slab_;
    first_slab_ = fresh;
    free_units_ += units - 1;
    return fresh;
}

void instance_blocks::give_back(instance& its, bool all) noexcept {
    while (its.last != nullptr && (all || its.last->next != nullptr)) {
        chunk* const gone = its.last;
        its.last = gone->next;
        slab& of = slab_of(gone);
        const std::size_t first = index_of(gone) * granule / unit_bytes, count = gone->units;
        of.free_units |= ((std::uint64_t{1} << count) - 1) << first;
        memset(of.ends + first * (unit_bytes / granule / 64), 0, count * (unit_bytes / granule / 8));
        free_units_ += count;
        --its.chunks;
    }
    memset(its.freed, 0, sizeof its.freed);
    its.next = its.end = nullptr;
    if (its.last == nullptr) return;
    // The first chunk, from its begin.
    const std::size_t first = index_of(its.last) * granule / unit_bytes;
    slab& of = slab_of(its.last);
    memset(of.ends + first * (unit_bytes / granule / 64), 0, its.last->units * (unit_bytes / granule / 8));
    its.next = reinterpret_cast<char*>(its.last) + sizeof(chunk);
    its.end = reinterpret_cast<char*>(its.last) + its.last->units * unit_bytes;
}

}  // namespace millpond::trial
