// SPDX-License-Identifier: BSL-1.0
// thread_cache: one thread's free blocks of one pool: a list for each class, in front of a block_depot.
//
//   take ◀─┬─ class 1 │ block ▸ block ▸ block │ room for 5 │          when empty: a chain from the depot
//   put ───┘  class 2 │ block                │ room for 1 │          when full:  the older half goes to the depot
//
// A list begins with room for two blocks and doubles that with each visit to the depot, up to 16 KiB and 128 blocks, or
// 8 KiB while the whole pool has less than 16 MiB: a class that is hardly used holds hardly anything. A free goes to
// the list of the thread that frees. A list that was not used during some hundred visits of this thread to the depot is
// handed over whole, because one forgotten block prevents its slab from becoming empty.
//
// take and put: some ten instructions, no lock, no atomic operation. For one thread, and one call at a time: the caller
// keeps out a signal handler that interrupted a call. At the end of a thread, flush hands everything over.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "preload/block_depot.hpp"

namespace millpond::preload {

class alignas(64) thread_cache {
  public:
    using classes = cached_classes;
    using block = block_depot::block;

    explicit thread_cache(block_depot& depot) noexcept : depot_(&depot) {}
    thread_cache(const thread_cache&) = delete;
    thread_cache& operator=(const thread_cache&) = delete;

    // Returns null if the depot has none.
    [[nodiscard, gnu::always_inline]] void* take(unsigned size_class) noexcept {
        void* const p = take_cached(size_class);
        return p != nullptr ? p : refill(size_class);
    }
    // Returns null if the list is empty; then call refill.
    [[nodiscard, gnu::always_inline]] void* take_cached(unsigned size_class) noexcept {
        list& from = lists_[size_class];
        block* const p = from.first;
        if (p == nullptr) [[unlikely]]
            return nullptr;
        from.first = p->next;
        ++from.room;
        return p;
    }
    [[nodiscard, gnu::noinline]] void* refill(unsigned size_class) noexcept;

    [[gnu::always_inline]] void put(unsigned size_class, void* freed) noexcept {
        if (!put_cached(size_class, freed)) [[unlikely]]
            overflow(size_class, freed);
    }
    // Returns false if the list is full; class 0 and run_class always are. Blocks of mixed slabs only wait in their
    // list.
    [[nodiscard, gnu::always_inline]] bool put_cached(unsigned size_class, void* freed) noexcept {
        list& to = lists_[size_class];
        if (to.room == 0) [[unlikely]]
            return false;
        --to.room;
        auto* const p = static_cast<block*>(freed);
        p->next = to.first;
        to.first = p;
        return true;
    }
    [[gnu::noinline]] void overflow(unsigned size_class, void* freed) noexcept;

    // Returns: the number of free blocks of a class here. Other threads may call it for a cache in memory that is zero
    // or was a cache; then the number is approximate.
    [[nodiscard]] std::uint32_t blocks(unsigned size_class) const noexcept {
        const std::uint32_t limit = __atomic_load_n(&lists_[size_class].limit, __ATOMIC_RELAXED);
        const std::uint32_t room = __atomic_load_n(&lists_[size_class].room, __ATOMIC_RELAXED);
        return limit > room ? limit - room : 0;
    }

    // Returns all blocks to the depot.
    void flush() noexcept;

    [[nodiscard]] block_depot& depot() noexcept { return *depot_; }
    // Returns the name of the calling thread for the depot's locks.
    [[nodiscard]] static block_depot::thread_id this_thread() noexcept { return pthread_self(); }

  private:
    struct list {
        block* first = nullptr;
        std::uint32_t room = 0;
        std::uint32_t limit = 0;  // blocks in the list plus room
    };

    [[nodiscard]] std::uint32_t limit_of(unsigned size_class) const noexcept;
    void widen(list& one, unsigned size_class) noexcept;
    // Effects: call it after a visit to the depot for that class. Now and then it examines the next class, and hands
    // its list over if it has not changed since the last time.
    void tend(unsigned visited) noexcept;
    void put_mixed() noexcept;

    list lists_[block_depot::mixed_class + 1];  // the list of runs has no room
    block_depot* depot_;
    std::uint32_t visits_ = 0;  // since the last examination
    unsigned looked_at_ = 0;
    std::uint32_t seen_[classes::count] = {};  // the state of a list when it was last examined
};

}  // namespace millpond::preload
