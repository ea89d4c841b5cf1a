// SPDX-License-Identifier: BSL-1.0
// pool: a multipool as the router uses it: below malloc, for one thread or behind a lock, with frees from anywhere.
//
//   for one thread: │ multipool │◀── owner allocates and frees          │ handed over │◀── other threads push
//   (lock-free)
//                        ▲───────────── owner drains before it allocates ──────┘
//   synchronized:   each thread: │ thread_cache │◀─▶ │ block_depot │     no lock and no atomic operation on most calls
//
// A synchronised pool is what libmillpond-multipool.so (lab/malloc) gives a whole program.
//
// A pool for one thread belongs to the first that allocates from it. Other threads get null there, and the router sends
// them to the program's own allocator; so every program stays correct, whatever a plan says. A freed block is handed
// over by its first word, so blocks have at least 8 bytes.
//
// A signal handler that interrupted the pool on its own thread is treated as another thread is: it gets null, and its
// frees are handed over. In the child of a fork, so are all threads where a thread that the child does not have was
// inside the pool: the pool then only takes frees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/pool_cache.hpp"
#include "lab/trial/process_words.hpp"
#include "millpond/local/multipool.hpp"
#include "preload/block_depot.hpp"
#include "preload/holder_lock.hpp"
#include "preload/pool_slabs.hpp"

namespace millpond::trial {

class alignas(64) pool {
  public:
    // `self` names the calling thread everywhere: any multiple of 8 that no other living thread has.
    using thread_id = preload::holder_lock::thread_id;

    // `counters`: private ones, for process_words. `depot`: memory for the depot of a synchronised pool, else null.
    pool(preload::slab_space& space, std::uint16_t id, bool huge_pages, pool_counters* counters, void* depot) noexcept
        : space_(space),
          counters_(counters),
          depot_(depot != nullptr ? new(depot) preload::block_depot(space, id, huge_pages, {&note_bytes, counters})
                                  : nullptr),
          id_(id),
          blocks_(preload::pool_slabs(space, id, huge_pages, {&note_bytes, counters})) {}
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    // Null if the pool belongs to another thread, is interrupted or has no memory. `alignment` at most 64.
    void* allocate(std::size_t bytes, std::size_t alignment, thread_id self) noexcept {
        if (depot_ != nullptr) {
            pool_cache* const cache = cache_of_this_thread();
            return cache != nullptr ? cache->allocate(bytes, alignment) : nullptr;
        }
        if (__atomic_load_n(&owner_, __ATOMIC_RELAXED) != self && !adopt(self)) [[unlikely]]
            return nullptr;
        if (!lock_.enter(self)) [[unlikely]]
            return nullptr;
        if (__atomic_load_n(&handed_over_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
            drain();
        void* const p = blocks_.try_allocate(bytes, alignment);
        counters().allocations += p != nullptr;
        lock_.leave();
        return p;
    }

    // As allocate, but only from a pool that the calling thread uses already.
    void* allocate_if_usable(std::size_t bytes, std::size_t alignment, thread_id self) noexcept {
        const bool usable = depot_ != nullptr || __atomic_load_n(&owner_, __ATOMIC_RELAXED) == self;
        return usable ? allocate(bytes, alignment, self) : nullptr;
    }
    // Returns: the size of the block that serves the request; 0 if none does.
    static constexpr std::size_t block_bytes(std::size_t bytes, std::size_t alignment) noexcept {
        return blocks::block_bytes(bytes, alignment);
    }

    // `owner` is what the slab map says of the block.
    void deallocate(void* block, preload::slab_owner owner, thread_id self) noexcept {
        if (depot_ != nullptr) {
            pool_cache* const cache = cache_of_this_thread();
            if (cache == nullptr || !cache->deallocate(block, owner.size_class)) [[unlikely]]
                hand_over(block);
            return;
        }
        if (__atomic_load_n(&owner_, __ATOMIC_RELAXED) != self || !lock_.enter(self)) return hand_over(block);
        blocks_.deallocate_block(block, owner.block_bytes);
        ++counters().deallocations;
        lock_.leave();
    }

    // In a child that has one of its parent's threads, `survivor`, or none that is known (0): what another thread owned
    // or was changing is left as it is, for it may be half-way.
    // Locks know a thread by another name, `lock_holder`.
    void retire_unless_of(thread_id survivor, thread_id lock_holder) noexcept {
        if (depot_ != nullptr) depot_->retire_unless_held_by(lock_holder);
        lock_.retire_unless_held_by(survivor);
        if (owner_ != nobody && owner_ != survivor) __atomic_store_n(&owner_, gone, __ATOMIC_RELAXED);
    }
    // Once the process has a slot: what was counted before goes there.
    void report_inherited() noexcept;

  private:
    static constexpr thread_id nobody = 0;
    static constexpr thread_id gone = 1;

    struct handed_block {
        handed_block* next;
    };

    [[nodiscard]] pool_counters& counters() const noexcept { return counters_of_process(counters_); }

    [[gnu::noinline, gnu::cold]] bool adopt(thread_id self) noexcept {
        thread_id seen = nobody;
        if (__atomic_compare_exchange_n(&owner_, &seen, self, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return true;
        __atomic_fetch_add(&counters().refused_thread, 1, __ATOMIC_RELAXED);
        return false;
    }
    [[gnu::noinline]] void hand_over(void* block) noexcept;
    [[gnu::noinline]] void drain() noexcept;
    [[nodiscard]] pool_cache* cache_of_this_thread() noexcept {
        thread_caches* const caches = thread_caches::of_this_thread();
        return caches != nullptr ? caches->of_pool(id_, *depot_) : nullptr;
    }
    static void note_bytes(void* counters, std::size_t held, std::size_t used) noexcept;

    // Read at every allocation; written only for a change of the owner, and the lock.
    preload::slab_space& space_;
    pool_counters* counters_;
    preload::block_depot* depot_;  // null: for one thread, which uses what follows
    thread_id owner_ = nobody;
    std::uint16_t id_;
    preload::holder_lock lock_;
    // Larger blocks would not fit a slab.
    using blocks = millpond::multipool<preload::pool_slabs, four_an_octave<pooled_bytes_max>>;
    blocks blocks_;
    // Written by other threads: a line of its own.
    alignas(64) handed_block* handed_over_ = nullptr;
};

}  // namespace millpond::trial
