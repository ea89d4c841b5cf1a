// SPDX-License-Identifier: BSL-1.0
// pool: a multipool as the router uses it: below malloc, for one thread or behind a lock, with frees from anywhere.
//
//   for one thread: │ multipool │◀── owner allocates and frees          │ handed over │◀── other threads push
//   (lock-free)
//                        ▲───────────── owner drains before it allocates ──────┘
//   synchronized:   lock ─▶ │ multipool │      no atomic operation while the process has one thread
//
// A pool for one thread belongs to the first that allocates from it. Other threads get null there, and the router sends
// them to the program's own allocator; so every program stays correct, whatever a plan says. A freed block is handed
// over by its first word, so blocks have at least 8 bytes.
//
// A signal handler that interrupted the pool on its own thread is treated as another thread is: it gets null, and its
// frees are handed over. In the child of a fork, so are all threads where a thread that the child does not have was
// inside the pool: the pool then only takes frees.
#pragma once

#include <sys/single_threaded.h>

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/holder_lock.hpp"
#include "lab/trial/pool_slabs.hpp"
#include "millpond/local/multipool.hpp"

namespace millpond::trial {

class alignas(64) pool {
  public:
    // `self` names the calling thread everywhere: any multiple of 8 that no other living thread has.
    using thread_id = holder_lock::thread_id;

    // `counters`: private ones, for process_words.
    pool(slab_space& space, std::uint16_t id, bool synchronized, bool huge_pages, pool_counters* counters) noexcept
        : space_(space),
          counters_(counters),
          synchronized_(synchronized),
          blocks_(pool_slabs(space, id, huge_pages, counters)) {}
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    // Null if the pool belongs to another thread, is interrupted or has no memory. `alignment` at most 64.
    void* allocate(std::size_t bytes, std::size_t alignment, thread_id self) noexcept {
        if (synchronized_) {
            if (!__libc_single_threaded) return allocate_locked(bytes, alignment, self);
        } else if (__atomic_load_n(&owner_, __ATOMIC_RELAXED) != self && !adopt(self)) [[unlikely]] {
            return nullptr;
        }
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
        const bool usable = synchronized_ || __atomic_load_n(&owner_, __ATOMIC_RELAXED) == self;
        return usable ? allocate(bytes, alignment, self) : nullptr;
    }
    // Returns: the size of the block that serves the request; 0 if none does.
    static constexpr std::size_t block_bytes(std::size_t bytes, std::size_t alignment) noexcept {
        return blocks::block_bytes(bytes, alignment);
    }

    // `block_bytes` is what the slab map says of the block.
    void deallocate(void* block, std::size_t block_bytes, thread_id self) noexcept {
        if (synchronized_) {
            if (!__libc_single_threaded) return deallocate_locked(block, block_bytes, self);
        } else if (__atomic_load_n(&owner_, __ATOMIC_RELAXED) != self) {
            return hand_over(block);
        }
        if (!lock_.enter(self)) [[unlikely]]
            return hand_over(block);
        blocks_.deallocate_block(block, block_bytes);
        ++counters().deallocations;
        lock_.leave();
    }

    // In a child that has one of its parent's threads, `survivor`, or none that is known (0): what another thread owned
    // or was changing is left as it is, for it may be half-way.
    void retire_unless_of(thread_id survivor) noexcept {
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
    [[gnu::noinline]] void* allocate_locked(std::size_t bytes, std::size_t alignment, thread_id self) noexcept {
        if (!lock_.lock(self)) [[unlikely]]
            return nullptr;
        if (__atomic_load_n(&handed_over_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
            drain();
        void* const p = blocks_.try_allocate(bytes, alignment);
        counters().allocations += p != nullptr;
        lock_.unlock();
        return p;
    }
    [[gnu::noinline]] void deallocate_locked(void* block, std::size_t block_bytes, thread_id self) noexcept {
        if (!lock_.lock(self)) [[unlikely]]
            return hand_over(block);
        blocks_.deallocate_block(block, block_bytes);
        ++counters().deallocations;
        lock_.unlock();
    }

    // Read at every allocation; written only for a change of the owner, and the lock.
    slab_space& space_;
    pool_counters* counters_;
    thread_id owner_ = nobody;
    bool synchronized_;
    holder_lock lock_;
    // Larger blocks would not fit a slab.
    using blocks = millpond::multipool<pool_slabs, four_an_octave<pooled_bytes_max>>;
    blocks blocks_;
    // Written by other threads: a line of its own.
    alignas(64) handed_block* handed_over_ = nullptr;
};

}  // namespace millpond::trial
