// SPDX-License-Identifier: BSL-1.0
// depot_slab: a pool's record of one of its slabs, in the slab's note (slab_map); for block_depot and mixed_slabs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/slab_map.hpp"

namespace millpond::preload {

struct free_block {
    free_block* next;
};

struct mixed_cuts;

struct depot_slab {
    union {
        free_block* freed;  // if the slab has one class
        mixed_cuts* cuts;   // if it is a mixed slab
    };
    depot_slab *next, *previous;  // of the slabs of its class that have free blocks
    std::uint16_t out;            // blocks in caches or in use
    std::uint16_t fresh;          // the first block that was never given out
    std::uint16_t blocks;
    std::uint8_t size_class;
    bool has_free;
};
static_assert(sizeof(depot_slab) <= slab_map::note_bytes);

}  // namespace millpond::preload
