// SPDX-License-Identifier: BSL-1.0
// mixed_slabs: slabs of blocks of any size, whose free neighbours are joined. The slabs of a shrinking class become
// mixed ones while another class grows.
//
//   a slab of 400 bytes    │ used │ free │ free │ used │ free │ …     free blocks serve no larger class
//   adopted: a mixed slab  │ used │     free    │ used │ free │ …     800 bytes serve 480
//   cuts, 1 KiB a slab       begins 1      1      1      1            a bit for each 16 bytes where a piece begins,
//                            used   1      0      1      0            and one where that piece is a block in use
//   lists by length        16, 32, … 1024 bytes, then eight an octave up to a slab; the links lie in the free pieces
//
// A block wastes no more than its own alignment; up to 1 KiB the search is best fit. Each take and each put writes to
// neighbours and to other pieces of its list, so it costs some hundred instructions and several cache lines, where a
// class's list costs ten. It pays for memory that would be idle otherwise.
//
// Not thread-safe, except bytes_of for a block in use: the pool's lock for mixed slabs serialises it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/depot_slab.hpp"
#include "preload/slab_map.hpp"

namespace millpond::preload {

struct mixed_cuts {
    static constexpr std::size_t granule = 16;
    static constexpr std::uint32_t granules = slab_map::slab_bytes / granule;
    static constexpr std::uint32_t words = granules / 64;

    union {
        std::uint64_t begins[words];
        mixed_cuts* next_spare;  // links cuts that no slab uses
    };
    std::uint64_t used[words];
};

class mixed_slabs {
  public:
    explicit constexpr mixed_slabs(slab_map& map) noexcept : map_(&map) {}
    mixed_slabs(const mixed_slabs&) = delete;
    mixed_slabs& operator=(const mixed_slabs&) = delete;

    // Effects: makes a slab of blocks of `block_bytes`, all of which were given out at some time, a mixed one. Its
    // owner in the map does not change. Returns false if there is no memory for its cuts; then nothing has changed.
    bool adopt(depot_slab& one, std::size_t block_bytes) noexcept;

    // Returns: a block of `bytes`, a multiple of 16, with the alignment of their lowest bit, up to `alignment_max`;
    // null if no piece is long enough.
    [[nodiscard]] free_block* take(std::size_t bytes, std::size_t alignment_max) noexcept;
    // Returns: the slab, no longer a mixed one, if this was its last block; otherwise null.
    [[nodiscard]] depot_slab* put(free_block* freed) noexcept;

    // Returns the size of a block in use, as requested from take.
    [[nodiscard]] std::size_t bytes_of(const void* block) const noexcept;

    // Calls visit(bytes, is_free) for each piece of one slab.
    template <class Visit>
    void for_each_piece(const depot_slab& one, Visit&& visit) const {
        for (std::uint32_t at = 0; at < mixed_cuts::granules;) {
            const std::uint32_t end = next_begin(*one.cuts, at);
            visit((end - at) * mixed_cuts::granule, !is_set(one.cuts->used, at));
            at = end;
        }
    }

  private:
    static constexpr std::uint32_t exact = 64, steps = 8;
    static constexpr std::uint32_t lists = 128;
    // The most pieces examined in a list whose pieces may be too short, or begin at an unsuitable place.
    static constexpr unsigned tries = 4;

    struct piece {
        piece *next, *previous;
    };
    static_assert(sizeof(piece) <= mixed_cuts::granule);

    static bool is_set(const std::uint64_t* bits, std::uint32_t at) noexcept {
        return (__atomic_load_n(bits + at / 64, __ATOMIC_RELAXED) >> at % 64 & 1) != 0;
    }
    // bytes_of reads without the lock, so a word is written whole.
    static void set(std::uint64_t* bits, std::uint32_t at) noexcept {
        __atomic_store_n(bits + at / 64, bits[at / 64] | std::uint64_t{1} << at % 64, __ATOMIC_RELAXED);
    }
    static void clear(std::uint64_t* bits, std::uint32_t at) noexcept {
        __atomic_store_n(bits + at / 64, bits[at / 64] & ~(std::uint64_t{1} << at % 64), __ATOMIC_RELAXED);
    }
    [[nodiscard]] static std::uint32_t next_begin(const mixed_cuts& its, std::uint32_t at) noexcept;
    [[nodiscard]] static std::uint32_t previous_begin(const mixed_cuts& its, std::uint32_t at) noexcept;
    [[nodiscard]] static std::uint32_t list_of(std::uint32_t granules) noexcept;
    [[nodiscard]] std::uint32_t next_filled(std::uint32_t list) const noexcept;

    [[nodiscard]] depot_slab& slab_at(const void* p) const noexcept {
        return *static_cast<depot_slab*>(map_->note_of(p));
    }
    [[nodiscard]] static std::uint32_t granule_of(const void* p) noexcept {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p) % slab_map::slab_bytes /
                                          mixed_cuts::granule);
    }
    // Extents of the map are aligned to slabs.
    [[nodiscard]] static piece* piece_at(char* slab, std::uint32_t at) noexcept {
        return reinterpret_cast<piece*>(slab + at * mixed_cuts::granule);
    }
    void insert(piece* one, std::uint32_t granules) noexcept;
    void remove(piece* one, std::uint32_t granules) noexcept;
    free_block* cut(piece* from, std::uint32_t length, std::uint32_t before, std::uint32_t granules) noexcept;
    mixed_cuts* take_cuts() noexcept;

    slab_map* map_;
    mixed_cuts* spare_ = nullptr;
    char *fresh_ = nullptr, *fresh_end_ = nullptr;  // memory for cuts
    std::uint64_t filled_[lists / 64] = {};
    piece* heads_[lists] = {};
};

}  // namespace millpond::preload
