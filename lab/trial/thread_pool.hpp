// SPDX-License-Identifier: BSL-1.0
// owned_by_thread: a pool behind malloc for one thread, which allocates; any thread may free.
//
//   │  blocks   │◀── owner allocates and frees          │ handed over │◀── other threads push, lock-free
//        ▲───────────── owner drains before it allocates ──────┘
//
// It belongs to the first thread that allocates. Other threads get null, and the router sends them to the program's own
// allocator; so every program stays correct, whatever a plan says. The first word of a freed block links it into the
// list, so blocks have at least 8 bytes.
//
// A signal handler that interrupted the pool on its own thread is treated as another thread: it gets null, and its
// frees are handed over. If a thread was inside the pool at a fork that only copied another thread, all threads of the
// child are treated so: the pool then only takes frees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/pool_bytes.hpp"
#include "lab/trial/process_words.hpp"
#include "millpond/local/multipool.hpp"
#include "preload/holder_lock.hpp"
#include "preload/pool_slabs.hpp"

namespace millpond::trial {

// `Blocks`: try_allocate(bytes, alignment, …), deallocate_block(block, block_bytes), source(), of pool_slabs.
template <class Blocks>
class owned_by_thread {
  public:
    // `self` names the calling thread, here and below: any multiple of 8 that no other living thread has.
    using thread_id = preload::holder_lock::thread_id;

    // `counters`: private ones, as process_words needs.
    owned_by_thread(preload::slab_space& space, std::uint16_t id, bool huge_pages, pool_counters* counters) noexcept
        : space_(space), counters_(counters), blocks_(preload::pool_slabs(space, id, huge_pages, noted_in(counters))) {}
    owned_by_thread(const owned_by_thread&) = delete;
    owned_by_thread& operator=(const owned_by_thread&) = delete;

    // Returns null if the pool belongs to another thread, is interrupted or has no memory. `alignment` at most 64.
    // `more`: further arguments for the blocks.
    template <class... More>
    void* allocate(std::size_t bytes, std::size_t alignment, thread_id self, More... more) noexcept {
        if (!is_usable(self) && !adopt(self)) [[unlikely]]
            return nullptr;
        if (!lock_.enter(self)) [[unlikely]]
            return nullptr;
        if (__atomic_load_n(&handed_over_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
            drain();
        void* const p = blocks_.try_allocate(bytes, alignment, more...);
        counters_of_process(counters_).allocations += p != nullptr;
        lock_.leave();
        return p;
    }
    // The fast paths of both, inlined and without a call, if the blocks have them. Aligned as malloc's blocks. Null,
    // false: nothing has changed; call the functions next to them. Blocks that others handed over wait until a class
    // has no block ready.
    [[gnu::always_inline]] void* take_at_hand(std::size_t bytes, thread_id self) noexcept
        requires requires(Blocks blocks) { blocks.take_at_hand(bytes, 8); }
    {
        if (!is_usable(self) || !lock_.enter(self)) [[unlikely]]
            return nullptr;
        void* p;
        if (bytes > 8) [[likely]]
            p = blocks_.take_at_hand(bytes, 16);
        else
            p = blocks_.take_at_hand(bytes, 8);
        if (p != nullptr) [[likely]]
            ++counters_of_process(counters_).allocations;
        lock_.leave();
        return p;
    }
    [[gnu::always_inline]] bool put_at_hand(void* block, std::uint32_t block_bytes, thread_id self) noexcept
        requires requires(Blocks blocks) { blocks.put_at_hand(block, block_bytes); }
    {
        if (!is_usable(self) || !lock_.enter(self)) [[unlikely]]
            return false;
        const bool is_free = blocks_.put_at_hand(block, block_bytes);
        if (is_free) [[likely]]
            ++counters_of_process(counters_).deallocations;
        lock_.leave();
        return is_free;
    }
    // `owner` is the block's entry in the slab map.
    [[gnu::noinline]] void deallocate(void* block, preload::slab_owner owner, thread_id self) noexcept {
        if (!is_usable(self) || !lock_.enter(self)) return hand_over(block);
        blocks_.deallocate_block(block, owner.block_bytes);
        ++counters_of_process(counters_).deallocations;
        lock_.leave();
    }
    // Returns whether the thread uses the pool already.
    [[nodiscard]] bool is_usable(thread_id self) const noexcept {
        return __atomic_load_n(&owner_, __ATOMIC_RELAXED) == self;
    }
    // Returns: the size of the block that serves the request; 0 if none does.
    static constexpr std::size_t block_bytes(std::size_t bytes, std::size_t alignment) noexcept {
        return Blocks::block_bytes(bytes, alignment);
    }

    // For a child that has one of its parent's threads, `survivor`, or none that is known (0). Leaves everything that
    // another thread owned or was changing, because the change may be incomplete.
    void retire_unless_of(thread_id survivor) noexcept {
        lock_.retire_unless_held_by(survivor);
        if (owner_ != no_thread && owner_ != survivor) __atomic_store_n(&owner_, gone, __ATOMIC_RELAXED);
    }
    void tell_observer() noexcept { blocks_.source().tell_observer(); }
    [[nodiscard]] const Blocks& blocks() const noexcept { return blocks_; }

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
    [[gnu::noinline]] void hand_over(void* block) noexcept {
        auto* const handed = static_cast<handed_block*>(block);
        handed_block* seen = __atomic_load_n(&handed_over_, __ATOMIC_RELAXED);
        do handed->next = seen;
        while (!__atomic_compare_exchange_n(&handed_over_, &seen, handed, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
        __atomic_fetch_add(&counters_of_process(counters_).remote_deallocations, 1, __ATOMIC_RELAXED);
    }

    // Takes the whole list at once, so that no block can leave and come back meanwhile.
    [[gnu::noinline]] void drain() noexcept {
        handed_block* each = __atomic_exchange_n(&handed_over_, nullptr, __ATOMIC_ACQUIRE);
        while (each != nullptr) {
            handed_block* const next = each->next;
            blocks_.deallocate_block(each, space_.map.owner_of(each).block_bytes);
            each = next;
        }
    }

    // Read at every allocation; written only for a change of the owner, and the lock.
    preload::slab_space& space_;
    pool_counters* counters_;
    thread_id owner_ = no_thread;
    preload::holder_lock lock_;
    Blocks blocks_;
    // Written by other threads, so it has its own cache line.
    alignas(64) handed_block* handed_over_ = nullptr;
};

// A slab could not hold larger blocks.
using thread_pool = owned_by_thread<millpond::multipool<preload::pool_slabs, four_an_octave<pooled_bytes_max>>>;

}  // namespace millpond::trial
