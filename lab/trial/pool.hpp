// SPDX-License-Identifier: BSL-1.0
// pool: a local allocator behind malloc, as the router uses it. Any thread may free. One of four kinds.
//
//   thread_pool    multipool                    for one thread; other threads stay with the program's allocator
//   shared_pool    synchronized(multipool)      for all threads
//   instance_pool  a small pool for each owner  for one thread, as thread_pool
//   arena_pool     monotonic                    arenas for the blocks of a scope
//
// Every program stays correct, whatever a plan says: where a pool cannot serve, it gives null, and the router sends the
// allocation to the program's own allocator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/arena_pool.hpp"
#include "lab/trial/control.hpp"
#include "lab/trial/instance_blocks.hpp"
#include "lab/trial/routes.hpp"
#include "lab/trial/shared_pool.hpp"
#include "lab/trial/thread_pool.hpp"

namespace millpond::trial {

using instance_pool = owned_by_thread<instance_blocks>;

class alignas(64) pool {
  public:
    // `self` names the calling thread, here and below: any multiple of 8 that no other living thread has.
    using thread_id = preload::holder_lock::thread_id;

    // `counters`: private ones, as process_words needs. Call is_complete afterwards.
    pool(preload::slab_space& space, std::uint16_t id, pool_kind kind, bool huge_pages,
         pool_counters* counters) noexcept;
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    // Never destroyed: a malloc keeps its pools until the process ends.

    // Returns false if there was no memory for the pool; then it must not be used.
    [[nodiscard]] bool is_complete() const noexcept { return kind_ != pool_kind::shared || shared_ != nullptr; }

    // Returns null if the pool belongs to another thread, is interrupted or has no memory. `alignment` at most 64.
    // `stack`: the caller's stack pointer, here and below; 0: not known.
    void* allocate(std::size_t bytes, std::size_t alignment, thread_id self, std::uintptr_t stack) noexcept {
        if (kind_ == pool_kind::one_thread) return own_.allocate(bytes, alignment, self);
        if (kind_ == pool_kind::shared) return shared_->allocate(bytes, alignment);
        if (kind_ == pool_kind::instances) return nullptr;  // without an owner
        return arenas_.allocate(bytes, alignment, self, stack);
    }
    // Access to the pool's fast path; null if it is of another kind. Arenas are found by the thread.
    [[nodiscard]] thread_pool* of_one_thread() noexcept { return kind_ == pool_kind::one_thread ? &own_ : nullptr; }
    [[nodiscard]] shared_pool* of_all_threads() noexcept { return kind_ == pool_kind::shared ? shared_ : nullptr; }
    [[nodiscard]] bool has_instances() const noexcept { return kind_ == pool_kind::instances; }
    // Allocates for this owner, in a pool of instances.
    void* allocate_for(std::uintptr_t owner, std::size_t bytes, std::size_t alignment, thread_id self) noexcept;
    // Like allocate, but only if the calling thread uses the pool already, or all threads may use it.
    void* allocate_if_usable(std::size_t bytes, std::size_t alignment, thread_id self) noexcept {
        const bool usable = kind_ != pool_kind::one_thread || own_.is_usable(self);
        return usable ? allocate(bytes, alignment, self, 0) : nullptr;
    }
    // Returns: the size of the block that serves the request from a pool with classes; 0 if none does.
    static constexpr std::size_t block_bytes(std::size_t bytes, std::size_t alignment) noexcept {
        return thread_pool::block_bytes(bytes, alignment);
    }
    // `owner` is the block's entry in the slab map, here and below. The three end in jumps, not calls: inlined, each
    // would save the registers that the others need.
    void deallocate(void* block, preload::slab_owner owner, thread_id self, std::uintptr_t stack) noexcept {
        if (kind_ == pool_kind::one_thread) return own_.deallocate(block, owner, self);
        if (kind_ == pool_kind::shared) return shared_->deallocate(block, owner);
        if (kind_ == pool_kind::instances) return instances_.deallocate(block, owner, self);
        arenas_.deallocate(block, owner, self, stack);
    }
    // Returns the block's size in bytes.
    [[nodiscard]] std::size_t usable_bytes(void* block, preload::slab_owner owner) const noexcept {
        if (kind_ == pool_kind::instances) return instance_blocks::usable_bytes(block);
        return has_arenas() ? arenas_.usable_bytes(block, owner) : owner.block_bytes;
    }

    // Effects: a shared pool returns its free memory to the system; the others keep theirs until they end. Returns:
    // whether anything was returned.
    bool give_up() noexcept { return kind_ == pool_kind::shared && shared_->give_up(); }
    void end_thread(thread_id ended) noexcept {
        if (has_arenas()) arenas_.end_thread(ended);
    }
    // Returns the arenas of a function's calls (arena_pool); null if the pool is of another kind.
    [[nodiscard]] arena_pool* arenas_of_calls() noexcept { return has_arena_of_call(kind_) ? &arenas_ : nullptr; }
    // For a child that has one of its parent's threads, `survivor`, or none that is known (0). Leaves everything that
    // another thread owned or was changing, because the change may be incomplete. Locks know a thread by another name,
    // `lock_holder`.
    void retire_unless_of(thread_id survivor, thread_id lock_holder) noexcept;
    // Call once the process has a slot: moves the earlier counts there.
    void report_inherited() noexcept;

  private:
    [[nodiscard]] bool has_arenas() const noexcept { return trial::has_arenas(kind_); }

    pool_counters* counters_;
    pool_kind kind_;
    union {
        thread_pool own_;
        shared_pool* shared_;  // in pages of its own: it is large
        instance_pool instances_;
        arena_pool arenas_;
    };
};

}  // namespace millpond::trial
