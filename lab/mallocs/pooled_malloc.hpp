// SPDX-License-Identifier: BSL-1.0
// pooled_malloc: our pool as a malloc for any unmodified program: LD_PRELOAD=…/libmillpond-multipool.so PROGRAM.
//
//   malloc ─▶ 1 byte to 21 KiB? ──yes──▶ this thread's cache ─▶ the depot, once for many blocks ─▶ slabs of 64 KiB
//                 │no
//             up to 2 MiB? ──yes──▶ the depot: a run of pages         else the C library's malloc (or the program's)
//   free ──▶ slab map: a pool's block? ──no──▶ the C library's free
//                 │yes: this thread's cache, by the class of its slab; runs to the depot
//
// Use it for a program that allocates much and cannot be changed, and as the baseline that a plan's pools must beat.
// Memory is returned to the system: empty slabs and runs beyond a quarter of those in use, and larger blocks as the C
// library does it.
//
// Cost: malloc and free of a cached block, some twenty instructions each, no lock, no atomic operation. A thread holds
// at most 16 KiB of free blocks in a class (two blocks, where that is more).
//
// Threads: any. A thread's cache is made at its first allocation and handed on when the thread ends. If it was made too
// late for that, the next thread on the same stack takes it. The frees of a thread without a cache go to the depot. A
// signal handler that interrupted this thread's cache allocates from the C library and hands its frees over.
// Forks: no lock is held over a fork, and the child's one thread continues with its own cache. A lock that another
// thread held at that moment is retired at the child's first wait for it, and the child takes no more memory from the
// part that it guards. With MILLPOND_HUGE=1 in the environment those 2 MiB of the pool that are nearly all resident
// become huge pages, which raises the pool's peak bytes by at most 1/15 (preload/huge_regions.hpp). With
// MILLPOND_CHECK=1 in the environment every call goes to checked_malloc.hpp instead, and no pool is made.
//
// All members are static: this is the backend of preload/interpose_exports.hpp.
#pragma once

#include <string.h>

#include <cstddef>
#include <cstdint>

#include "lab/mallocs/checked_malloc.hpp"
#include "preload/block_depot.hpp"
#include "preload/call_site.hpp"
#include "preload/pool_slabs.hpp"
#include "preload/real.hpp"
#include "preload/thread_cache.hpp"

namespace millpond::mallocs {

class pooled_malloc {
  public:
    static constexpr const char* name = "multipool";
    using call_site = preload::return_site;
    using classes = preload::cached_classes;
    using real = preload::real;

    [[gnu::always_inline]] static void* allocate(std::size_t bytes, call_site site) noexcept {
        if (bytes - 1 >= thread_.small_max) [[unlikely]]
            return allocate_otherwise(bytes, site);
        return allocate_cached(bytes);
    }
    static void* allocate_zeroed(std::size_t bytes, call_site site) noexcept {
        if (bytes - 1 >= classes::largest_packed) return allocate_zeroed_run(bytes, site);
        void* const p = allocate_small(bytes, site);
        return p != nullptr ? memset(p, 0, bytes) : nullptr;
    }
    static void* allocate_aligned(std::size_t alignment, std::size_t bytes, call_site site) noexcept;
    static void* reallocate(void* old, std::size_t bytes, call_site site) noexcept;

    [[gnu::always_inline]] static void deallocate(void* p) noexcept {
        if (!space_.map.contains(p)) return deallocate_elsewhere(p);
        const unsigned size_class = space_.map.class_at(p);
        if (thread_.small_max == 0) [[unlikely]]
            return deallocate_otherwise(p);
        preload::thread_cache& cache = *thread_.cache;
        enter();
        if (!cache.put_cached(size_class, p)) [[unlikely]]
            return overflow(size_class, p);
        leave();
    }
    static std::size_t usable_size(void* p) noexcept {
        if (checked_malloc::is_on()) [[unlikely]]
            return checked_malloc::usable_size(p);
        const preload::slab_owner owner = space_.map.owner_of(p);
        if (owner.block_bytes == 0) return real::usable_size(p);
        return pooled_bytes(p, owner);
    }

    // An approximate snapshot: other threads may allocate meanwhile. The list of a class counts the blocks in the
    // threads' caches and in the depot.
    static classic::heap_record record() noexcept;
    // Effects: prints record, and each list that has a block, if MILLPOND_STATS asks for it. Called at the end.
    static void say_statistics() noexcept;
    // Returns the free memory of this thread's cache and of the depot to the system.
    static bool trim() noexcept;
    // The same with the addresses, for a provider that got no memory (real).
    static bool make_room(std::size_t bytes) noexcept;

    // Called once, before any other library's start-up code.
    static void start() noexcept;

  private:
    // small_max is 0 while the cache cannot be used: before the first allocation, inside of a call (of a signal
    // handler), and after the thread's end.
    struct thread_state {
        std::size_t small_max;
        preload::thread_cache* cache;
        enum : std::uint32_t { fresh, starting, started, ending, ended } life;
    };

    static void enter() noexcept {
        *const_cast<volatile std::size_t*>(&thread_.small_max) = 0;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    static void leave() noexcept {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        *const_cast<volatile std::size_t*>(&thread_.small_max) = classes::largest_packed;
    }

    [[nodiscard]] static std::size_t pooled_bytes(const void* p, preload::slab_owner owner) noexcept {
        if (owner.size_class == preload::block_depot::run_class) return depot_.run_bytes(p);
        if (owner.size_class == preload::block_depot::mixed_class) return depot_.mixed_bytes(p);
        return owner.block_bytes;
    }

    // For threads whose cache can be used.
    [[gnu::always_inline]] static void* allocate_cached(std::size_t bytes) noexcept {
        const unsigned size_class = classes::class_of(bytes);
        enter();
        void* const p = thread_.cache->take_cached(size_class);
        if (p == nullptr) [[unlikely]]
            return refill(size_class, bytes);
        leave();
        return p;
    }
    static void* allocate_small(std::size_t bytes, call_site site) noexcept {
        return thread_.small_max != 0 ? allocate_cached(bytes) : allocate_otherwise(bytes, site);
    }

    [[gnu::noinline]] static void* allocate_otherwise(std::size_t bytes, call_site site) noexcept;
    // For sizes above the largest class, including those too large for a run.
    static void* allocate_run(std::size_t bytes, bool& is_zero, std::size_t alignment = 1) noexcept;
    static void put_outgrown(void* old) noexcept;
    static void put_alone(unsigned size_class, void* p) noexcept;
    static bool grow_run(void* run, std::size_t bytes) noexcept;
    static void* allocate_elsewhere(std::size_t bytes, bool is_smaller, call_site site) noexcept;
    static void* allocate_zeroed_run(std::size_t bytes, call_site site) noexcept;
    [[gnu::noinline]] static void* refill(unsigned size_class, std::size_t bytes) noexcept;
    [[gnu::noinline]] static void overflow(unsigned size_class, void* p) noexcept;
    [[gnu::noinline]] static void deallocate_otherwise(void* p) noexcept;
    // Reached by a jump from free and operator delete: the return address is their caller's.
    [[gnu::noinline]] static void deallocate_elsewhere(void* p) noexcept;
    [[gnu::noinline, gnu::cold]] static void* allocate_wherever(std::size_t bytes) noexcept;
    static void* allocate_really(std::size_t bytes) noexcept;

    [[gnu::noinline, gnu::cold]] static bool start_thread() noexcept;
    static void end_thread(void*) noexcept;
    static preload::thread_cache* take_cache() noexcept;
    static void leave_cache() noexcept;
    static std::size_t cached_blocks(unsigned size_class) noexcept;
    static void flush_cache() noexcept;
    static void adopt_if_child() noexcept;

    static inline bool is_active_ = false;
    static constinit inline preload::slab_space space_;
    static constinit inline preload::block_depot depot_{space_, 0, false};
    static constinit inline thread_local thread_state thread_{};
};

}  // namespace millpond::mallocs
