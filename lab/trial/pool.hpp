// SPDX-License-Identifier: BSL-1.0
// pool: a multipool as the router uses it: below malloc, for one thread or behind a lock, with frees from anywhere.
//
//   for one thread: │ multipool │◀── owner allocates and frees          │ handed over │◀── other threads push
//   (lock-free)
//                        ▲───────────── owner drains before it allocates ──────┘
//   synchronized:   lock ─▶ │ multipool │      the lock is left out while the process has one thread
//
// A pool for one thread belongs to the first that allocates from it. Other threads get null there, and the router sends
// them to the program's own allocator; so every program stays correct, whatever a plan says. A freed block is handed
// over by its first word, so blocks have at least 8 bytes.
#pragma once

#include <sys/single_threaded.h>

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/futex_lock.hpp"
#include "lab/trial/pool_slabs.hpp"
#include "millpond/local/multipool.hpp"

namespace millpond::trial {

class alignas(64) pool {
  public:
    // `self` names the calling thread everywhere: any address that no other living thread has.
    using thread_id = std::uintptr_t;

    pool(slab_space& space, std::uint16_t id, bool synchronized, bool huge_pages, pool_counters* counters) noexcept
        : space_(space),
          counters_(counters),
          synchronized_(synchronized),
          blocks_(pool_slabs(space, id, huge_pages, &counters_)) {}
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    // Null if the pool belongs to another thread or has no memory. `alignment` at most 64.
    void* allocate(std::size_t bytes, std::size_t alignment, thread_id self) noexcept {
        if (synchronized_) {
            const bool locked = lock();
            void* const p = blocks_.try_allocate(bytes, alignment);
            counters_->allocations += p != nullptr;
            unlock(locked);
            return p;
        }
        if (__atomic_load_n(&owner_, __ATOMIC_RELAXED) != self && !adopt(self)) [[unlikely]]
            return nullptr;
        if (__atomic_load_n(&handed_over_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
            drain();
        void* const p = blocks_.try_allocate(bytes, alignment);
        counters_->allocations += p != nullptr;
        return p;
    }

    // `block_bytes` is what the slab map says of the block.
    void deallocate(void* block, std::size_t block_bytes, thread_id self) noexcept {
        if (synchronized_) {
            const bool locked = lock();
            blocks_.deallocate_block(block, block_bytes);
            ++counters_->deallocations;
            unlock(locked);
        } else if (__atomic_load_n(&owner_, __ATOMIC_RELAXED) == self) {
            blocks_.deallocate_block(block, block_bytes);
            ++counters_->deallocations;
        } else {
            hand_over(block);
        }
    }

    // Around a fork: nobody else is inside a synchronized pool meanwhile.
    void before_fork() noexcept {
        if (synchronized_) lock_.lock();
    }
    void after_fork() noexcept {
        if (synchronized_) lock_.unlock();
    }
    // In the child, the thread that owned a pool may be gone, and may have been interrupted half-way: then the pool
    // only takes frees.
    void in_child(thread_id self, pool_counters* counters) noexcept {
        if (synchronized_)
            lock_.reset();
        else if (owner_ != nobody && owner_ != self)
            __atomic_store_n(&owner_, gone, __ATOMIC_RELAXED);
        counters->held_bytes = counters_->held_bytes;
        counters->slab_bytes_used = counters_->slab_bytes_used;
        counters_ = counters;
    }

  private:
    static constexpr thread_id nobody = 0;
    static constexpr thread_id gone = 1;

    struct handed_block {
        handed_block* next;
    };

    bool lock() noexcept {
        if (__libc_single_threaded) return false;
        lock_.lock();
        return true;
    }
    void unlock(bool locked) noexcept {
        if (locked) lock_.unlock();
    }

    [[gnu::noinline, gnu::cold]] bool adopt(thread_id self) noexcept {
        thread_id seen = nobody;
        if (__atomic_compare_exchange_n(&owner_, &seen, self, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return true;
        __atomic_fetch_add(&counters_->refused_thread, 1, __ATOMIC_RELAXED);
        return false;
    }
    [[gnu::noinline]] void hand_over(void* block) noexcept;
    [[gnu::noinline]] void drain() noexcept;

    // Read at every allocation; written only for a change of the owner or a process.
    slab_space& space_;
    pool_counters* counters_;
    thread_id owner_ = nobody;
    bool synchronized_;
    futex_lock lock_;
    // Larger blocks would not fit a slab.
    millpond::multipool<pool_slabs, four_an_octave<std::size_t{32} << 10>> blocks_;
    // Written by other threads: a line of its own.
    alignas(64) handed_block* handed_over_ = nullptr;
};

}  // namespace millpond::trial
