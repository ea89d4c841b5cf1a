// SPDX-License-Identifier: BSL-1.0
// block_depot: the common stock of blocks behind the thread caches of one pool, and what gives empty memory back.
//
//   thread_cache ◀── take: a chain of blocks ──┐  class 1   lock │ slabs with free blocks ▸ ▸ ▸
//   thread_cache ── put: a chain of blocks ───▶│  class 2   lock │ slabs with free blocks ▸
//                                              │  …              ▲ a slab of any class        │ the last block is back
//                                              └─ empty slabs ───┘ ◀──────────────────────────┘──▶ the system
//
// A slab is 64 KiB of blocks of one class and counts those that are out, so it is known when it is empty: then it
// serves any class. A larger block, up to 2 MiB, is a run of slabs of its own. Of the empty slabs and runs as many are
// kept as a quarter of those in use, 1 MiB at least, and what was taken again soon after it had been given back, so
// that work in rounds does not fault its memory in each time; the rest go back to the system. What lies unused while
// eight times as much was emptied as was in use at most is kept no longer. A slab that was full and gets a
// block back is the next to be used, so the emptier ones may empty. What a slab counts lies in the map's table and not
// in the slab.
//
// Thread-safe: a lock for each class, held for one chain. `self` names the calling thread (holder_lock). A lock that
// cannot be had (a fork copied it while another thread held it) makes its class give nothing more in that child; blocks
// that come back then are handed over: kept on a lock-free list until the lock can be had. Handing over is also for
// callers that may take no lock: signal handlers that interrupted their thread's cache, and threads that are ending.
//
// Cost: take and put, one lock and some ten instructions a block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/cached_classes.hpp"
#include "preload/malloc_usage.hpp"
#include "preload/pool_slabs.hpp"

namespace millpond::preload {

class block_depot {
  public:
    using thread_id = holder_lock::thread_id;
    using classes = cached_classes;

    static constexpr std::size_t largest_run = slab_map::extent_bytes_max;
    static constexpr unsigned run_class = classes::count;

    struct block {
        block* next;
    };
    struct chain {
        block* first = nullptr;
        unsigned count = 0;
    };

    // `pool`: the owner of its slabs in the map of `space`.
    constexpr block_depot(slab_space& space, std::uint16_t pool, bool huge_pages, slab_observer observer = {}) noexcept
        : slabs_(space, pool, huge_pages, observer), space_(&space), pool_(pool), huge_pages_(huge_pages) {}
    block_depot(const block_depot&) = delete;
    block_depot& operator=(const block_depot&) = delete;

    // Up to `wanted` blocks, and fewer where that saves a new slab. None if there is no memory or no lock.
    [[nodiscard]] chain take(unsigned size_class, unsigned wanted, thread_id self) noexcept;
    // A chain that ends with null.
    void put(unsigned size_class, block* first, thread_id self) noexcept;

    // Returns: a block of whole slabs, aligned to one, for `bytes` up to `largest_run`; null as take gives none. Its
    // class in the map is `run_class`. `is_zero`: set where nobody has written to it yet.
    [[nodiscard]] void* take_run(std::size_t bytes, thread_id self, bool& is_zero) noexcept;
    void put_run(void* run, thread_id self) noexcept;

    // Any block of this pool. Takes no lock.
    void hand_over(void* handed) noexcept;

    // In a child of which only the thread `survivor` is known (0: none).
    void retire_unless_held_by(thread_id survivor) noexcept;

    void tell_observer() const noexcept { slabs_.tell_observer(); }

    // Nearly what is so at one moment: other threads go on. Blocks in caches count as given out. O(slabs).
    [[nodiscard]] malloc_usage usage() const noexcept;
    // Gives all empty slabs back to the system. False: there were none, or the lock cannot be had.
    bool trim(thread_id self) noexcept;

  private:
    static constexpr std::size_t empty_bytes_min = std::size_t{1} << 20;
    static constexpr std::size_t epoch_bytes_min = std::size_t{16} << 20;

    // What is kept of a slab, or of the first one of a run, in its note.
    struct slab {
        block* freed;
        slab *next, *previous;  // of the slabs of its class that have free blocks, or of the empty ones
        std::uint16_t out;      // blocks that are in caches or in use
        std::uint16_t fresh;    // the first block that was never given out
        std::uint16_t blocks;
        std::uint8_t run;  // slabs of the run, when it is empty
        bool has_free;
    };
    static_assert(sizeof(slab) <= slab_map::note_bytes);

    struct alignas(64) stock {
        holder_lock lock;
        slab* first = nullptr;
    };

    [[nodiscard]] slab* slab_at(const void* p) const noexcept { return static_cast<slab*>(space_->map.note_of(p)); }
    static void link(stock& to, slab* one) noexcept;
    static void unlink(stock& from, slab* one) noexcept;
    chain take_locked(stock& from, unsigned size_class, unsigned wanted, thread_id self) noexcept;
    slab* new_slab(unsigned size_class, thread_id self) noexcept;
    void give_back(slab* emptied, thread_id self) noexcept;
    // With the lock of slabs_ held. `block_bytes`: of what the run will be cut into.
    slab* take_empty(std::uint32_t slabs) noexcept;
    slab* take_from_system(std::uint32_t slabs, std::size_t block_bytes) noexcept;
    void keep_empty(slab* emptied) noexcept;
    void return_surplus(std::size_t kept, unsigned runs_max) noexcept;
    void push_empty(slab* one) noexcept;
    slab* pop_empty(std::uint32_t slabs) noexcept;
    [[nodiscard]] std::size_t in_use_bytes() const noexcept { return slabs_.used_bytes() - empty_bytes_; }
    void collect(thread_id self) noexcept;

    pool_slabs slabs_;
    slab_space* space_;
    std::uint16_t pool_;
    bool huge_pages_;
    holder_lock slabs_lock_;  // for slabs_ and the empty ones
    struct empty_runs {
        slab* first;
        std::size_t bytes;
    };
    empty_runs empty_[slab_map::extent_slabs_max + 1] = {};  // by the slabs of a run
    std::size_t empty_bytes_ = 0;
    std::size_t kept_bytes_ = empty_bytes_min;  // empty ones that are kept, if a quarter of those in use is less
    std::size_t returned_bytes_ = 0;            // to the system, and not asked for again
    std::size_t least_empty_bytes_ = 0;         // in this epoch
    std::size_t emptied_bytes_ = 0;             // in this epoch
    std::size_t most_in_use_bytes_ = 0;         // in this epoch
    alignas(64) block* handed_over_ = nullptr;
    stock stocks_[classes::count];
};

}  // namespace millpond::preload
