// SPDX-License-Identifier: BSL-1.0
// pool_slabs: the block source of one routed pool. It cuts chunks from the extents of the process's slab map and marks
// each slab with the pool and the size of its blocks, so that a free finds both from an address.
//
//   extent of this pool   │ chunk of 48-byte blocks │ chunk of 128 │ … next ▸                │
//   then another, twice as long, up to 2 MiB; with huge pages 2 MiB from the start
//
// For multipool, under the pool's lock or by its one thread. The slab map behind it has a lock of its own, taken once
// for each extent. Null if the addresses or the memory are used up, or the lock cannot be taken: inside a signal
// handler that interrupted its holder, and in a child if another thread of its parent held it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/holder_lock.hpp"
#include "preload/slab_map.hpp"

namespace millpond::preload {

// The slab map of the process and the lock that serialises changes of it.
struct slab_space {
    slab_map map;
    holder_lock lock;
    // Returns the name of the calling thread for the lock.
    static holder_lock::thread_id this_thread() noexcept;
    // Effects: returns addresses of free slabs to the system. Returns: true if there were any.
    bool unmap_free() noexcept;
};

// Told, whenever they change, the bytes that a pool has from the slab map and the bytes that it has made into chunks.
struct slab_observer {
    void (*changed)(void* context, std::size_t held, std::size_t used) noexcept = nullptr;
    void* context = nullptr;
};

class pool_slabs {
  public:
    constexpr pool_slabs(slab_space& space, std::uint16_t pool, bool huge_pages, slab_observer observer = {}) noexcept
        : space_(&space),
          observer_(observer),
          extent_slabs_(huge_pages ? slab_map::extent_slabs_max : 1),
          pool_(pool),
          huge_pages_(huge_pages) {}

    // Returns a chunk to be cut into blocks of `block_bytes`; owner_of reports that size for each of its slabs.
    void* try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept;
    // Serves the pool's own data, and blocks too large for its classes. A free could not find such blocks, so the
    // router requests none.
    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return try_allocate_slab(bytes, alignment, 0);
    }
    void deallocate(void* chunk, std::size_t bytes, std::size_t alignment) noexcept;

    // Effects: returns the unused part of its extents to the map; huge extents stay.
    void give_up_rests() noexcept;

    [[nodiscard]] std::size_t used_bytes() const noexcept { return __atomic_load_n(&used_bytes_, __ATOMIC_RELAXED); }
    [[nodiscard]] std::size_t held_bytes() const noexcept { return __atomic_load_n(&held_bytes_, __ATOMIC_RELAXED); }
    void tell_observer() const noexcept {
        if (observer_.changed != nullptr) observer_.changed(observer_.context, held_bytes_, used_bytes_);
    }

    // One slab for one class: a chunk of several would leave more of it unused, and on huge pages unused memory is
    // resident. Classes of large blocks get longer ones.
    static constexpr std::size_t preferred_chunk_bytes = slab_map::slab_bytes;
    static constexpr bool has_long_slabs = true;

  private:
    // The rest of the latest extent, and of an earlier one in which a larger chunk did not fit.
    struct rest {
        char* next = nullptr;
        char* last = nullptr;
        [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(last - next); }
    };

    static std::uint32_t slabs_for(std::size_t bytes) noexcept {
        return static_cast<std::uint32_t>((bytes + slab_map::slab_bytes - 1) / slab_map::slab_bytes);
    }
    // Any thread may read it. `bytes` may be negative, modulo 2^64.
    void note_used(std::size_t bytes) noexcept {
        __atomic_store_n(&used_bytes_, used_bytes_ + bytes, __ATOMIC_RELAXED);
    }
    bool take_extent(std::uint32_t slabs) noexcept;
    void* take_from_map(std::uint32_t& slabs, std::uint32_t needed) noexcept;
    void put_aside(rest left) noexcept;

    slab_space* space_;
    slab_observer observer_;
    std::size_t held_bytes_ = 0, used_bytes_ = 0;
    rest latest_, older_;
    std::uint32_t extent_slabs_;
    std::uint16_t pool_;
    bool huge_pages_;
};

}  // namespace millpond::preload
