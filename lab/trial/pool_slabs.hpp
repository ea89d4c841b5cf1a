// SPDX-License-Identifier: BSL-1.0
// pool_slabs: the block source of one routed pool: chunks cut from the extents of the process's slab map, each slab
// marked with the pool and the size of the blocks that it will hold, so that a free finds both from an address.
//
//   extent of this pool   │ chunk of 48-byte blocks │ chunk of 128 │ … next ▸                │
//   then another, twice as long, up to 2 MiB; with huge pages 2 MiB from the start
//
// For multipool, under the pool's lock or by its one thread; the slab map behind it has a lock of its own, taken once
// for each extent. Null when the addresses or the memory are used up, or the lock cannot be had: inside a signal
// handler that interrupted its holder, and in a child whose parent's other thread held it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/holder_lock.hpp"
#include "lab/trial/process_words.hpp"
#include "preload/slab_map.hpp"

namespace millpond::trial {

// The slab map of the process and the lock that serialises changes of it.
struct slab_space {
    preload::slab_map map;
    holder_lock lock;
    // Names the calling thread to the lock.
    static holder_lock::thread_id this_thread() noexcept;
};

class pool_slabs {
  public:
    pool_slabs(slab_space& space, std::uint16_t pool, bool huge_pages, pool_counters* counters) noexcept
        : space_(&space),
          counters_(counters),
          extent_slabs_(huge_pages ? preload::slab_map::extent_slabs_max : 1),
          pool_(pool),
          huge_pages_(huge_pages) {}

    // A chunk that will be cut into blocks of `block_bytes`, which owner_of will answer for each of its slabs.
    void* try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept;
    // What the pool keeps for itself, and blocks too large for its classes: found by no free, so the router asks for
    // none.
    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return try_allocate_slab(bytes, alignment, 0);
    }
    void deallocate(void* chunk, std::size_t bytes, std::size_t alignment) noexcept;

    // Tells the counters of this process what the pool holds.
    void report() noexcept;

    // One slab for one class: a chunk of several would leave more of it unused, and on huge pages unused is resident.
    // Classes of large blocks come to longer ones.
    static constexpr std::size_t preferred_chunk_bytes = preload::slab_map::slab_bytes;
    static constexpr bool has_long_slabs = true;

  private:
    // What is left of the latest extent, and of one before that where a larger chunk did not fit.
    struct rest {
        char* next = nullptr;
        char* last = nullptr;
        [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(last - next); }
    };

    static std::uint32_t slabs_for(std::size_t bytes) noexcept {
        return static_cast<std::uint32_t>((bytes + preload::slab_map::slab_bytes - 1) / preload::slab_map::slab_bytes);
    }
    bool take_extent(std::uint32_t slabs) noexcept;
    void* take_from_map(std::uint32_t& slabs, std::uint32_t needed) noexcept;
    void put_aside(rest left) noexcept;

    slab_space* space_;
    pool_counters* counters_;  // private ones, for process_words
    std::size_t held_bytes_ = 0, used_bytes_ = 0;
    rest latest_, older_;
    std::uint32_t extent_slabs_;
    std::uint16_t pool_;
    bool huge_pages_;
};

}  // namespace millpond::trial
