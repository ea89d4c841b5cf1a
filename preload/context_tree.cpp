// SPDX-License-Identifier: BSL-1.0
#include "preload/context_tree.hpp"

#include "preload/pages.hpp"

namespace millpond::preload {

void context_tree::table::add(const entry& e) noexcept {
    std::size_t i = hash(e.parent, e.return_address);
    while (entries[i & mask].id != 0) ++i;
    entry& to = entries[i & mask];
    to.return_address = e.return_address;
    to.parent = e.parent;
    __atomic_store_n(&to.id, e.id, __ATOMIC_RELEASE);
    ++used;
}

// Doubles a full table, under the lock. Readers may still be in the old one, so it stays.
bool context_tree::make_room() noexcept {
    table* const old = table_;
    if (old != nullptr && old->used * 2 < old->mask) return true;
    const std::size_t entries = old == nullptr ? first_entries : (old->mask + 1) * 2;
    auto* const fresh = take_pages<table>(table::bytes(entries));
    if (fresh == nullptr) return false;
    fresh->before = old;
    fresh->mask = entries - 1;
    for (std::size_t i = 0; old != nullptr && i <= old->mask; ++i)
        if (old->entries[i].id != 0 && old->entries[i].return_address != forgotten) fresh->add(old->entries[i]);
    __atomic_store_n(&table_, fresh, __ATOMIC_RELEASE);
    return true;
}

// Returns the place of an id's node, under the lock. Makes the chunk for the first node there; null: out of memory.
context_tree::place* context_tree::room_for(std::uint32_t id) noexcept {
    if (id >> chunk_bits >= chunk_count) return nullptr;
    place*& chunk = chunks_[id >> chunk_bits];
    if (chunk == nullptr) __atomic_store_n(&chunk, take_pages<place>(sizeof(place) << chunk_bits), __ATOMIC_RELEASE);
    return chunk == nullptr ? nullptr : chunk + (id & chunk_mask);
}

std::uint32_t context_tree::make(std::uint32_t parent, std::uintptr_t return_address) noexcept {
    const patient_guard guard(lock_);
    if (!guard) return 0;
    if (const std::uint32_t id = find(parent, return_address)) return id;
    const std::uint32_t id = last_id_ + 1;
    place* const from = room_for(parent);
    place* const fresh = room_for(id);
    if (from == nullptr || fresh == nullptr) return 0;
    const unsigned slot = from->children[0] == 0 ? 0 : 1;
    const bool beside = from->children[slot] == 0 && fits_beside(return_address);
    if (!beside && !make_room()) return 0;
    fresh->return_address = return_address;
    fresh->parent = parent;
    if (observer_ != nullptr) observer_(id, parent, return_address);
    __atomic_store_n(&last_id_, id, __ATOMIC_RELAXED);
    if (beside) {
        __atomic_store_n(&from->id_high[slot], static_cast<std::uint16_t>(id >> 16), __ATOMIC_RELAXED);
        __atomic_store_n(&from->children[slot], return_address << 16 | (id & 0xFFFF), __ATOMIC_RELEASE);
    } else {
        table_->add({return_address, parent, id});
    }
    return id;
}

void context_tree::forget(std::uintptr_t first, std::uintptr_t last) noexcept {
    const spin_guard guard(lock_);
    const auto is_gone = [=](std::uintptr_t address) { return address > first && address <= last; };
    for (std::uint32_t id = 0; chunks_[0] != nullptr && id <= last_id_; ++id)
        for (std::uint64_t& child : chunks_[id >> chunk_bits][id & chunk_mask].children)
            if (is_gone(child >> 16)) __atomic_store_n(&child, forgotten << 16, __ATOMIC_RELAXED);
    for (std::size_t i = 0; table_ != nullptr && i <= table_->mask; ++i) {
        entry& e = table_->entries[i];
        if (e.id != 0 && is_gone(e.return_address))
            __atomic_store_n(&e.return_address, std::uintptr_t{forgotten}, __ATOMIC_RELAXED);
    }
}

void context_tree::clear() noexcept {
    while (table* const last = table_) {
        table_ = last->before;
        give_pages(last, table::bytes(last->mask + 1));
    }
    for (place*& chunk : chunks_) {
        if (chunk == nullptr) break;
        give_pages(chunk, sizeof(place) << chunk_bits);
        chunk = nullptr;
    }
    last_id_ = 0;
}

}  // namespace millpond::preload
