// SPDX-License-Identifier: BSL-1.0
// instance_blocks: a small pool for each owner of objects, all from the slabs of one routed pool.
//
//   owner 0x7f10 ─▶ instance ─▶ │ chunk 1 KiB │ chunk 2 KiB │ …     blocks of all sizes in the order of allocation;
//   owner 0x7f58 ─▶ instance ─▶ │ chunk 1 KiB │                     freed ones wait by size, for this owner only
//
//   slab 64 KiB   │ front 1 KiB: the instance of each KiB, a bit where each block ends │ chunks of several instances …
//
// So the objects of one owner lie together, whoever allocates in between, as if each owner had its own pool in the
// source. Chunks double up to 31 KiB. An empty instance returns all chunks except its first; it is handed to a new
// owner when there are too many instances. Owners: any word; 0 stands for objects without an owner.
//
// Bounded: at most 4096 owners at a time. When 1 MiB is held and more than 4 times the live bytes (arena_bound), all
// further requests are refused. For blocks of at most 1 KiB, aligned to at most 16. Not thread-safe: see
// owned_by_thread. try_allocate and deallocate_block: some 30 instructions for the owner that was served last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/pool_slabs.hpp"

namespace millpond::trial {

class instance_blocks {
  public:
    static constexpr std::size_t bytes_max = 1024;
    static constexpr std::uint32_t instances_max = 4096;
    // The block size that the slab map holds for these slabs. No other pool has blocks so small.
    static constexpr std::uint32_t block_bytes_mark = 2;

    explicit instance_blocks(preload::pool_slabs slabs) noexcept : slabs_(slabs) {}

    // Returns null for too large blocks, for too many owners, at the bound and without memory.
    void* try_allocate(std::size_t bytes, std::size_t alignment, std::uintptr_t owner) noexcept;
    // `block_bytes` is the slab map's entry, not a size.
    void deallocate_block(void* block, std::size_t block_bytes) noexcept;
    [[nodiscard]] static std::size_t usable_bytes(const void* block) noexcept;
    static constexpr std::size_t block_bytes(std::size_t, std::size_t) noexcept { return 0; }

    [[nodiscard]] preload::pool_slabs& source() noexcept { return slabs_; }
    [[nodiscard]] std::size_t live_bytes() const noexcept { return live_bytes_; }
    // The bytes held, and the live bytes, when the bound was reached; 0 before.
    [[nodiscard]] std::size_t capped_bytes() const noexcept { return capped_bytes_; }
    [[nodiscard]] std::size_t capped_live_bytes() const noexcept { return capped_live_bytes_; }

  private:
    static constexpr std::size_t granule = 16, unit_bytes = 1024;
    static constexpr unsigned units = preload::slab_map::slab_bytes / unit_bytes,
                              units_of_chunk_max = 31;  // two in a slab
    static constexpr std::size_t sizes = bytes_max / granule + 1;
    static constexpr std::uint32_t places = 2 * instances_max;

    struct free_block {
        free_block* next;
    };
    // Lies at the start of each chunk.
    struct chunk {
        chunk* next;
        std::size_t units;
    };
    struct instance {
        std::uintptr_t owner;
        char *next, *end;
        chunk* last;  // the first one comes last in the list
        std::uint32_t live_blocks, chunks;
        free_block* freed[sizes];  // by granules
    };
    // Lies at the start of each slab.
    struct slab {
        slab* other;
        std::uint64_t free_units;
        std::uint16_t instance_of[units];
        std::uint64_t ends[preload::slab_map::slab_bytes / granule / 64];
    };
    static_assert(sizeof(slab) <= unit_bytes);

    static slab& slab_of(const void* p) noexcept {
        return *reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(p) & ~(preload::slab_map::slab_bytes - 1));
    }
    static std::size_t index_of(const void* p) noexcept {
        return reinterpret_cast<std::uintptr_t>(p) % preload::slab_map::slab_bytes / granule;
    }
    static void mark_end(const char* past) noexcept {
        const std::size_t last = index_of(past - granule);
        slab_of(past - granule).ends[last / 64] |= std::uint64_t{1} << last % 64;
    }

    [[nodiscard]] instance* find(std::uintptr_t owner) noexcept;
    [[nodiscard]] instance* make(std::uintptr_t owner) noexcept;
    bool start() noexcept;
    std::size_t place_of(std::uintptr_t owner) const noexcept;
    void drop_empty() noexcept;
    bool add_chunk(instance& its, std::size_t needed) noexcept;
    char* take_units(unsigned count) noexcept;
    slab* add_slab() noexcept;
    void keep_tail(instance& its) noexcept;
    void give_back(instance& its, bool all) noexcept;

    preload::pool_slabs slabs_;
    instance* instances_ = nullptr;
    std::uint16_t* index_ = nullptr;  // of instances, from 1, by owner; linear probing
    std::uint16_t* spare_ = nullptr;  // instances without an owner
    std::uint32_t spares_ = 0;
    instance* latest_ = nullptr;
    slab* first_slab_ = nullptr;
    std::size_t live_bytes_ = 0, capped_bytes_ = 0, capped_live_bytes_ = 0;
    std::size_t free_units_ = 0;  // of all slabs
};

}  // namespace millpond::trial
