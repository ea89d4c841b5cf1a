// SPDX-License-Identifier: BSL-1.0
// pool_index: finds the pool of a group in which an address lies, for groups that are too large to search.
//
//   table  │frame 17 ▶ 2│      │frame 40 ▶ 0│block 9 ▶ 2│      │    open addressing; a key for each 4 KiB that a
//   pools  │ A │ ended │ C │                                       row touches, or for each 64 GiB that a range touches
//
// A pool that has ended, or a row that has gone back, leaves its keys behind, so a pool that is found must confirm the
// address. Old keys are dropped when the table grows. find: O(1). add: O(rows of the pool). Memory: about 32 bytes a
// row. Part of grouped_pool. Not thread-safe. Ownership: of the table; each call names the source.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/concepts.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Pool: calls each(begin, end) in for_each_piece for the addresses of its slots, and holds(address).
template <class Pool>
class pool_index {
    static constexpr unsigned frame_shift = 12;
    static constexpr unsigned block_shift = sizeof(void*) == 8 ? 36 : 28;
    static constexpr std::uintptr_t most_framed = std::uintptr_t{64} << 10;

    struct entry {
        std::uintptr_t key = 0;
        std::size_t pool = 0;
    };

  public:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    pool_index() = default;
    pool_index(const pool_index&) = delete;
    pool_index& operator=(const pool_index&) = delete;

    // Returns: the number of the pool; none if there is no memory, and nothing has changed.
    template <block_source Source>
    [[nodiscard]] std::size_t add(Source& source, Pool& pool) noexcept {
        std::size_t keys = 0;
        for_each_key(pool, [&](std::uintptr_t) { ++keys; });
        if ((used_ + keys) * 2 > capacity_ && !make_room(source, keys)) return none;
        if (count_ == room_ && !make_room_for_pools(source)) return none;
        for_each_key(pool, [&](std::uintptr_t key) { put({key, count_}); });
        pools_[count_] = &pool;
        ++live_;
        return count_++;
    }

    // Effects: makes the pool impossible to find.
    template <block_source Source>
    void remove(Source& source, std::size_t number) noexcept {
        pools_[number] = nullptr;
        if (--live_ == 0) release(source);
    }

    [[nodiscard]] Pool* find(const void* address) const noexcept {
        const auto wanted = reinterpret_cast<std::uintptr_t>(address);
        Pool* const found = find(frame_key(wanted), address);
        return found != nullptr ? found : find(block_key(wanted), address);
    }

    [[nodiscard]] std::size_t size() const noexcept { return live_; }

    // Effects: forgets all pools, and gives all memory back.
    template <block_source Source>
    void release(Source& source) noexcept {
        if (capacity_ != 0) source.deallocate(table_, capacity_ * sizeof(entry), alignof(entry));
        if (room_ != 0) source.deallocate(pools_, room_ * sizeof(Pool*), alignof(Pool*));
        table_ = nullptr;
        pools_ = nullptr;
        capacity_ = used_ = room_ = count_ = live_ = 0;
    }

    friend void swap(pool_index& a, pool_index& b) noexcept {
        std::swap(a.table_, b.table_);
        std::swap(a.capacity_, b.capacity_);
        std::swap(a.used_, b.used_);
        std::swap(a.pools_, b.pools_);
        std::swap(a.room_, b.room_);
        std::swap(a.count_, b.count_);
        std::swap(a.live_, b.live_);
    }

    [[nodiscard]] std::size_t held_bytes() const noexcept { return capacity_ * sizeof(entry) + room_ * sizeof(Pool*); }

  private:
    // Keys are not 0, and those of frames and of blocks differ.
    [[nodiscard]] static std::uintptr_t frame_key(std::uintptr_t address) noexcept {
        return (address >> frame_shift) << 1 | 1;
    }
    [[nodiscard]] static std::uintptr_t block_key(std::uintptr_t address) noexcept {
        return ((address >> block_shift) + 1) << 1;
    }

    template <class Each>
    static void for_each_key(const Pool& pool, Each each) {
        pool.for_each_piece([&](std::uintptr_t begin, std::uintptr_t end) {
            if (end - begin <= most_framed) {
                for (std::uintptr_t key = frame_key(begin); key <= frame_key(end - 1); key += 2) each(key);
            } else {
                for (std::uintptr_t key = block_key(begin); key <= block_key(end - 1); key += 2) each(key);
            }
        });
    }

    [[nodiscard]] std::size_t place_of(std::uintptr_t key) const noexcept {
        return static_cast<std::size_t>(std::uint64_t{key} * 0x9E3779B97F4A7C15U >> 32) & (capacity_ - 1);
    }

    [[nodiscard]] Pool* find(std::uintptr_t key, const void* address) const noexcept {
        if (capacity_ == 0) return nullptr;
        for (std::size_t at = place_of(key); table_[at].key != 0; at = (at + 1) & (capacity_ - 1)) {
            if (table_[at].key != key) continue;
            Pool* const pool = pools_[table_[at].pool];
            if (pool != nullptr && pool->holds(address)) return pool;
        }
        return nullptr;
    }

    void put(const entry& added) noexcept {
        std::size_t at = place_of(added.key);
        while (table_[at].key != 0) at = (at + 1) & (capacity_ - 1);
        table_[at] = added;
        ++used_;
    }

    // Effects: makes room for as many more keys, without those of pools that have ended.
    template <block_source Source>
    [[nodiscard]] bool make_room(Source& source, std::size_t keys) noexcept {
        const auto is_live = [&](const entry& each) { return each.key != 0 && pools_[each.pool] != nullptr; };
        const auto live = static_cast<std::size_t>(std::count_if(table_, table_ + capacity_, is_live));
        const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(64, (live + keys) * 4));
        void* const memory = source.try_allocate(capacity * sizeof(entry), alignof(entry));
        if (memory == nullptr) return false;
        entry* const old = std::exchange(table_, static_cast<entry*>(memory));
        const std::size_t old_capacity = std::exchange(capacity_, capacity);
        std::uninitialized_value_construct_n(table_, capacity);
        used_ = 0;
        for (std::size_t at = 0; at < old_capacity; ++at) {
            if (is_live(old[at])) put(old[at]);
        }
        if (old_capacity != 0) source.deallocate(old, old_capacity * sizeof(entry), alignof(entry));
        return true;
    }

    template <block_source Source>
    [[nodiscard]] bool make_room_for_pools(Source& source) noexcept {
        const std::size_t room = std::max<std::size_t>(8, 2 * room_);
        void* const memory = source.try_allocate(room * sizeof(Pool*), alignof(Pool*));
        if (memory == nullptr) return false;
        Pool** const old = std::exchange(pools_, static_cast<Pool**>(memory));
        std::copy(old, old + count_, pools_);
        if (room_ != 0) source.deallocate(old, room_ * sizeof(Pool*), alignof(Pool*));
        room_ = room;
        return true;
    }

    entry* table_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t used_ = 0;
    Pool** pools_ = nullptr;
    std::size_t room_ = 0;
    std::size_t count_ = 0;  // numbers given so far
    std::size_t live_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
