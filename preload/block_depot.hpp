// SPDX-License-Identifier: BSL-1.0
// block_depot: the common stock of blocks behind the thread caches of one pool; it returns empty memory to the system.
//
//   thread_cache ◀── take: a chain of blocks ──┐  class 1   lock │ slabs with free blocks ▸ ▸ ▸
//   thread_cache ── put: a chain of blocks ───▶│  class 2   lock │ slabs with free blocks ▸
//                                              │  …              ▲ a slab of any class        │ the last block is back
//                                              └─ empty slabs ───┘ ◀──────────────────────────┘──▶ the system
//
// A slab is 64 KiB of blocks of one class. It counts the blocks that are out, so the depot knows when it is empty. Then
// it serves any class or, with its empty neighbours, larger blocks of up to 2 MiB, which are runs of pages (page_runs).
// A full slab that gets a block back is the next to be used, so that emptier ones may empty. A slab's record lies in
// the map's table and not in the slab.
//
// Who serves a request: the first of these that has memory. Before step 2, blocks that were handed over return.
//
//      a block of a class                                                                 locks
//   1  the thread's cache: its list of the class (thread_cache)                           none
//   2  slabs of the class: freed blocks, then untouched ones of at most one more page     the class's
//   3  a new class, up to 2 KiB: one block in touched pages of a class up to 1.5 × as     the other class's
//      large; for its first eight blocks, while one is free
//      any other class: a new slab of the pool's own free pages (page_runs)               the class's, slabs
//   4  a class up to 2 × as large with 128 KiB of freed blocks: blocks in touched pages   the other class's
//   5  mixed slabs, which serve all classes (mixed_slabs); if they have none, slabs of    mixed, the other
//      the class with the most freed bytes (128 KiB, 1/32 of the pool) become mixed ones  class's
//   6  a new slab: the pool's free pages, then the rest of its extents (pool_slabs),      the class's, slabs,
//      then an extent of the slab map, which asks the system if it has none               the map's
//   7  no block: the caller asks the program's own malloc
//
//      a run of pages: requests above the classes, up to 2 MiB
//   1  the shortest free run that is long enough (page_runs)                              slabs
//   2  new slabs as in 6; their rest is a free run                                        slabs, the map's
//   3  no run: as 7
//
// Step 5 is only for callers that call mix_slabs. Steps 3 and 4 save pages: a class with a handful of blocks takes no
// page of its own, and a large stock of freed blocks is used before the system is asked.
//
// Who gets a freed block: the freeing thread's cache. When its list is full, the older half goes to the slabs; an empty
// slab becomes free pages. A run goes to page_runs at once. kept_memory decides which free pages go to the slab map,
// which returns their memory to the system, and when.
//
// Thread-safe: each class has a lock, held for one chain. `self` names the calling thread (holder_lock). A lock cannot
// be taken if a fork copied it while another thread held it. Its class then supplies nothing more in that child, and
// blocks that come back are handed over: they wait on a lock-free list until the lock is free. Callers that may take no
// lock also hand over: signal handlers that interrupted their thread's cache, and threads that are ending.
//
// Cost: take and put, one lock and some ten instructions a block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millpond/classic/heap_record.hpp"
#include "preload/cached_classes.hpp"
#include "preload/depot_slab.hpp"
#include "preload/huge_regions.hpp"
#include "preload/kept_memory.hpp"
#include "preload/mixed_slabs.hpp"
#include "preload/page_runs.hpp"
#include "preload/pool_slabs.hpp"

namespace millpond::preload {

class block_depot {
  public:
    using thread_id = holder_lock::thread_id;
    using classes = cached_classes;

    static constexpr std::size_t largest_run = slab_map::extent_bytes_max;
    static constexpr unsigned run_class = classes::count;
    static constexpr unsigned mixed_class = classes::count + 1;

    using block = free_block;
    struct chain {
        block* first = nullptr;
        unsigned count = 0;
    };

    // `pool`: the number of the owner of its slabs in the map of `space`.
    constexpr block_depot(slab_space& space, std::uint16_t pool, bool huge_pages, slab_observer observer = {}) noexcept
        : slabs_(space, pool, huge_pages, observer),
          space_(&space),
          pool_(pool),
          huge_pages_(huge_pages),
          runs_(space.map, pool, run_class),
          mixed_(space.map) {}
    block_depot(const block_depot&) = delete;
    block_depot& operator=(const block_depot&) = delete;

    // Returns up to `wanted` blocks, fewer if that saves a page, and none if there is no memory or the lock cannot be
    // taken. A block may be of a larger class; it is as well aligned.
    [[nodiscard]] chain take(unsigned size_class, unsigned wanted, thread_id self) noexcept;
    // Takes back a chain that ends with null: blocks that take gave for that class, or of the class itself.
    void put(unsigned size_class, block* first, thread_id self) noexcept;

    // Returns: a block of whole pages for `bytes` up to `largest_run`; null in the cases where take gives none. Its
    // class in the map is `run_class`. `alignment`: a power of two, up to a slab, and with the bytes at most
    // `largest_run`. `is_zero`: set if the block was never written.
    [[nodiscard]] void* take_run(std::size_t bytes, thread_id self, bool& is_zero, std::size_t alignment = 1) noexcept;
    void put_run(void* run, thread_id self) noexcept;
    // Effects: extends the run to `bytes`, if the pages behind it are free. Returns: whether it did.
    [[nodiscard]] bool grow_run(void* run, std::size_t bytes, thread_id self) noexcept;
    [[nodiscard]] std::size_t run_bytes(const void* run) const noexcept { return runs_.bytes_of(run); }

    // Lets shrinking classes serve others: their slabs become mixed ones (mixed_slabs). For callers that know
    // mixed_class; the size of such a block is mixed_bytes.
    void mix_slabs() noexcept { mixes_slabs_ = true; }
    [[nodiscard]] std::size_t mixed_bytes(const void* p) const noexcept { return mixed_.bytes_of(p); }

    // Takes back any block of this pool, without a lock.
    void hand_over(void* handed) noexcept;

    // Retires locks in a child of which only the thread `survivor` is known (0: none).
    void retire_unless_held_by(thread_id survivor) noexcept;

    // Turns huge pages on, where the heap is full enough (huge_regions). For the only pool of its map.
    void make_huge_pages() noexcept { makes_huge_pages_ = true; }

    // The clock of the epochs; a test may supply its own.
    using clock = std::uint64_t (*)() noexcept;
    static std::uint64_t steady_ms() noexcept;
    static constinit inline clock now_ms = &steady_ms;

    void tell_observer() const noexcept { slabs_.tell_observer(); }
    [[nodiscard]] std::size_t used_bytes() const noexcept { return slabs_.used_bytes(); }

    // An approximate snapshot: other threads may allocate meanwhile. Blocks in caches count as given out, and are in no
    // list. O(slabs + free runs).
    [[nodiscard]] classic::heap_record record(thread_id self) noexcept;
    // Returns: the number of free blocks of a class that came back from caches.
    [[nodiscard]] std::size_t freed_blocks(unsigned size_class) const noexcept {
        return __atomic_load_n(&stocks_[size_class].freed_blocks, __ATOMIC_RELAXED);
    }
    // Returns all empty slabs to the system. False: there were none, or the lock cannot be taken.
    bool trim(thread_id self) noexcept;
    // Returns them with their addresses, and with the addresses of all free slabs of the map, for a process at its
    // limit. Result: as trim.
    bool give_up(thread_id self) noexcept;

  private:
    static constexpr std::size_t borrowed_bytes_min = 2 * slab_map::slab_bytes;
    // A class can give much to others if it has this many free bytes, and they are this part of the pool.
    static constexpr std::size_t mixed_bytes_min = 2 * slab_map::slab_bytes;
    static constexpr std::size_t mixed_parts = 32;
    static constexpr unsigned mixed_at_once = 256;
    static constexpr unsigned begun_max = 8;
    static constexpr std::size_t begun_bytes_max = 2048;

    using slab = depot_slab;

    struct alignas(64) stock {
        holder_lock lock;
        slab* first = nullptr;
        std::size_t freed_blocks = 0;  // in its slabs, given out before
        unsigned begun = 0;            // blocks that came from neighbouring classes before it had a slab
    };

    [[nodiscard]] slab* slab_at(const void* p) const noexcept { return static_cast<slab*>(space_->map.note_of(p)); }
    // The class changes only to mixed_class while blocks of the slab are out, also while it is read.
    [[nodiscard]] static unsigned class_of_slab(const slab& one) noexcept {
        return __atomic_load_n(&one.size_class, __ATOMIC_RELAXED);
    }
    static void link(stock& to, slab* one) noexcept;
    static void unlink(stock& from, slab* one) noexcept;
    // Call it with the lock of `from` held.
    chain take_locked(stock& from, unsigned size_class, unsigned wanted, bool may_touch = true) noexcept;
    std::uint32_t take_fresh(slab& from, std::size_t block_bytes, std::uint32_t wanted, bool may_touch,
                             block**& last) noexcept;
    chain take_new(stock& from, unsigned size_class, unsigned wanted, bool may_grow, thread_id self) noexcept;
    chain borrow(unsigned size_class, unsigned wanted, thread_id self) noexcept;
    chain take_mixed(unsigned size_class, unsigned wanted, thread_id self) noexcept;
    chain take_mixed_locked(unsigned size_class, unsigned wanted) noexcept;
    void put_mixed(block* first, thread_id self) noexcept;
    // Effects: makes mixed slabs of those of the class with the most free bytes, if that is much.
    bool mix_largest(thread_id self) noexcept;
    chain begin_with_neighbours(unsigned size_class, thread_id self) noexcept;
    // Returns whether blocks of `larger` suit requests of `size_class`.
    [[nodiscard]] static bool is_as_well_aligned(unsigned larger, unsigned size_class) noexcept;
    slab* new_slab(unsigned size_class, bool may_grow, thread_id self) noexcept;
    void give_back(slab* emptied, thread_id self) noexcept;
    static std::uint32_t pages_for(std::size_t bytes) noexcept;
    // Call it with the lock of slabs_ held. `block_bytes`: the size of the blocks into which the run will be cut.
    char* take_from_system(std::uint32_t slabs, std::size_t block_bytes) noexcept;
    // Call it without the lock, because collapsing takes long.
    void look_for_huge_pages() noexcept;
    void note_emptied(std::size_t bytes) noexcept;
    void return_surplus(std::size_t kept, unsigned runs_max) noexcept;
    [[nodiscard]] kept_memory::amounts amounts() const noexcept {
        return {slabs_.used_bytes() - runs_.free_bytes(), runs_.free_bytes()};
    }
    void collect(thread_id self) noexcept;

    pool_slabs slabs_;
    slab_space* space_;
    std::uint16_t pool_;
    bool huge_pages_;
    holder_lock slabs_lock_;  // protects slabs_ and runs_
    page_runs runs_;
    kept_memory keeping_;
    huge_regions huge_;
    std::size_t looked_at_bytes_ = 0;  // the heap's size when huge_ last saw it
    bool makes_huge_pages_ = false;
    bool mixes_slabs_ = false;
    alignas(64) block* handed_over_ = nullptr;
    stock stocks_[classes::count];
    // The last members, because most programs never touch them.
    holder_lock mixed_lock_;  // protects mixed_; taken with a class's lock held, or with none
    mixed_slabs mixed_;
};

}  // namespace millpond::preload
