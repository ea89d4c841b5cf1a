// SPDX-License-Identifier: BSL-1.0
// thread_pool: a multipool below malloc for the one thread that allocates from it; any thread frees.
//
//   │ multipool │◀── owner allocates and frees          │ handed over │◀── other threads push, lock-free
//        ▲───────────── owner drains before it allocates ──────┘
//
// It belongs to the first thread that allocates. Other threads get null, and the router sends them to the program's own
// allocator; so every program stays correct, whatever a plan says. A freed block is handed over by its first word, so
// blocks have at least 8 bytes.
//
// A signal handler that interrupted the pool on its own thread is treated as another thread is: it gets null, and its
// frees are handed over. In the child of a fork, so are all threads where a thread that the child does not have was
// inside the pool: the pool then only takes frees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/process_words.hpp"
#include "millpond/local/multipool.hpp"
#include "preload/holder_lock.hpp"
#include "preload/pool_slabs.hpp"

namespace millpond::trial {

class thread_pool {
  public:
    // `self` names the calling thread everywhere: any multiple of 8 that no other living thread has.
    using thread_id = preload::holder_lock::thread_id;

    // `counters`: private ones, for process_words.
    thread_pool(preload::slab_space& space, std::uint16_t id, bool huge_pages, pool_counters* counters) noexcept;
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;

    // Null if the pool belongs to another thread, is interrupted or has no memory. `alignment` at most 64.
    void* allocate(std::size_t bytes, std::size_t alignment, thread_id self) noexcept {
        if (!is_usable(self) && !adopt(self)) [[unlikely]]
            return nullptr;
        if (!lock_.enter(self)) [[unlikely]]
            return nullptr;
        if (__atomic_load_n(&handed_over_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
            drain();
        void* const p = blocks_.try_allocate(bytes, alignment);
        counters_of_process(counters_).allocations += p != nullptr;
        lock_.leave();
        return p;
    }
    // `owner` is what the slab map says of the block.
    [[gnu::noinline]] void deallocate(void* block, preload::slab_owner owner, thread_id self) noexcept {
        if (!is_usable(self) || !lock_.enter(self)) return hand_over(block);
        blocks_.deallocate_block(block, owner.block_bytes);
        ++counters_of_process(counters_).deallocations;
        lock_.leave();
    }
    // Whether the thread uses the pool already.
    [[nodiscard]] bool is_usable(thread_id self) const noexcept {
        return __atomic_load_n(&owner_, __ATOMIC_RELAXED) == self;
    }
    // Returns: the size of the block that serves the request; 0 if none does.
    static constexpr std::size_t block_bytes(std::size_t bytes, std::size_t alignment) noexcept {
        return blocks::block_bytes(bytes, alignment);
    }

    // In a child that has one of its parent's threads, `survivor`, or none that is known (0): what another thread owned
    // or was changing is left as it is, for it may be half-way.
    void retire_unless_of(thread_id survivor) noexcept {
        lock_.retire_unless_held_by(survivor);
        if (owner_ != no_thread && owner_ != survivor) __atomic_store_n(&owner_, gone, __ATOMIC_RELAXED);
    }
    void tell_observer() noexcept { blocks_.source().tell_observer(); }

  private:
    static constexpr thread_id no_thread = 0;
    static constexpr thread_id gone = 1;

    struct handed_block {
        handed_block* next;
    };

    [[gnu::noinline, gnu::cold]] bool adopt(thread_id self) noexcept {
        thread_id seen = no_thread;
        if (__atomic_compare_exchange_n(&owner_, &seen, self, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return true;
        __atomic_fetch_add(&counters_of_process(counters_).refused_thread, 1, __ATOMIC_RELAXED);
        return false;
    }
    [[gnu::noinline]] void hand_over(void* block) noexcept;
    [[gnu::noinline]] void drain() noexcept;

    // Read at every allocation; written only for a change of the owner, and the lock.
    preload::slab_space& space_;
    pool_counters* counters_;
    thread_id owner_ = no_thread;
    preload::holder_lock lock_;
    // Larger blocks would not fit a slab.
    using blocks = millpond::multipool<preload::pool_slabs, four_an_octave<pooled_bytes_max>>;
    blocks blocks_;
    // Written by other threads: a line of its own.
    alignas(64) handed_block* handed_over_ = nullptr;
};

}  // namespace millpond::trial
