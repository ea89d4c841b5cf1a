// SPDX-License-Identifier: BSL-1.0
// pool_cache: a thread's cache of one synchronised pool. It counts its calls, and the thread's own signal handlers may
// use it.
//
// thread_caches: one thread's caches of all pools. A thread takes them at its first use of such a pool. When it ends,
// another thread takes them over with their counts.
//
// A signal handler that interrupted a call gets null, and its frees go to the pool's depot. So do the frees at a
// thread's very end, and the first 16 frees of a thread that allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "lab/trial/control.hpp"
#include "lab/trial/pool_line.hpp"
#include "preload/holder_lock.hpp"
#include "preload/thread_cache.hpp"

namespace millpond::trial {

class pool_cache {
  public:
    using classes = preload::cached_classes;

    // `line` may be null (pool_line).
    pool_cache(preload::block_depot& depot, cache_counters* line, pool_counters* pool) noexcept
        : blocks_(depot), counted_(line, pool) {}

    // Returns null inside of another call, or without memory. `alignment` at most 64, `bytes` at most classes::largest.
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (is_busy_) [[unlikely]]
            return nullptr;
        enter();
        void* const p = blocks_.take(alignment <= 16 ? classes::class_of(bytes) : classes::class_of(bytes, alignment));
        if (p != nullptr) counted_.count_allocation();
        leave();
        return p;
    }
    // Returns false inside of another call.
    bool deallocate(void* block, unsigned size_class) noexcept {
        if (is_busy_) [[unlikely]]
            return false;
        enter();
        blocks_.put(size_class, block);
        counted_.count_deallocation();
        leave();
        return true;
    }
    // The fast paths of both, inlined and without a call. Null, false: nothing has changed.
    [[gnu::always_inline]] void* take_at_hand(std::size_t bytes) noexcept {
        if (is_busy_ || !counted_.has_line()) [[unlikely]]
            return nullptr;
        enter();
        void* const p = blocks_.take_cached(classes::class_of(bytes));
        if (p != nullptr) [[likely]]
            counted_.count_allocation_in_line();
        leave();
        return p;
    }
    [[gnu::always_inline]] bool put_at_hand(void* block, unsigned size_class) noexcept {
        if (is_busy_ || !counted_.has_line()) [[unlikely]]
            return false;
        enter();
        const bool is_free = blocks_.put_cached(size_class, block);
        if (is_free) [[likely]]
            counted_.count_deallocation_in_line();
        leave();
        return is_free;
    }
    // Does nothing inside of another call.
    void flush() noexcept {
        if (is_busy_) return;
        enter();
        blocks_.flush();
        leave();
    }

  private:
    void enter() noexcept {
        is_busy_ = true;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    void leave() noexcept {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        is_busy_ = false;
    }

    preload::thread_cache blocks_;
    pool_line counted_;
    volatile bool is_busy_ = false;
};

class thread_caches {
  public:
    // Call once. `pools`: the number of pools; `counters`: where they count.
    static bool start(std::size_t pools, all_pool_counters* counters) noexcept;
    // Returns the calling thread's caches. Null inside of another call of this, without memory, and when the thread has
    // ended.
    static thread_caches* of_this_thread() noexcept {
        thread_caches* const its = current_;
        return its != nullptr ? its : take();
    }
    // The same for a free. Null for the first frees of a thread that has allocated nothing, because the C library frees
    // some blocks in threads whose destructors have run.
    static thread_caches* of_freeing_thread() noexcept {
        thread_caches* const its = current_;
        if (its != nullptr) [[likely]]
            return its;
        if (frees_without_ == frees_without_max) return take();
        ++frees_without_;
        return nullptr;
    }
    // Returns the calling thread's cache of that pool, if it has one already.
    [[gnu::always_inline]] static pool_cache* at_hand(std::size_t index) noexcept {
        thread_caches* const its = current_;
        if (its == nullptr || its->places_[index].state != made) [[unlikely]]
            return nullptr;
        return its->places_[index].cache();
    }
    // Effects: returns the blocks in the calling thread's caches to the pools, if it has caches.
    static void flush_this_thread() noexcept;
    // For a child of which only the thread `survivor` is known (0: none).
    static void retire_unless_held_by(preload::holder_lock::thread_id survivor) noexcept;
    // Call once a child has its slot: moves its lines and earlier counts there.
    static void report_inherited() noexcept;
    // Returns a line for one thread's calls of one pool; null if all are claimed.
    static cache_counters* claim_line(std::size_t pool) noexcept;

    // Used by thread_register, and by the list of spare ones.
    preload::holder_lock::thread_id register_thread;
    thread_caches* register_next;

    // Returns null if a signal handler comes while the cache is made.
    pool_cache* of_pool(std::size_t index, preload::block_depot& depot) noexcept {
        place& its = places_[index];
        if (its.state != made && !make(its, index, depot)) [[unlikely]]
            return nullptr;
        return its.cache();
    }

  private:
    enum : std::uint8_t { empty, in_the_making, made };
    struct place {
        volatile std::uint8_t state;
        alignas(pool_cache) std::byte memory[sizeof(pool_cache)];
        pool_cache* cache() noexcept { return std::launder(reinterpret_cast<pool_cache*>(memory)); }
    };

    static constexpr std::uint8_t frees_without_max = 16;

    static thread_caches* take() noexcept;
    static thread_caches* find_or_map(preload::holder_lock::thread_id self) noexcept;
    static void end_thread(void* its) noexcept;
    static bool make(place& at, std::size_t index, preload::block_depot& depot) noexcept;

    enum : std::uint8_t { fresh, starting, started, ending, ended };
    static constinit inline thread_local thread_caches* current_ = nullptr;
    static constinit inline thread_local std::uint8_t life_ = fresh;
    static constinit inline thread_local std::uint8_t frees_without_ = 0;

    place places_[1];  // as many as there are pools; pages of zeros
};

}  // namespace millpond::trial
