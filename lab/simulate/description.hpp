// SPDX-License-Identifier: BSL-1.0
// description: the text that describes one simulator, as the options of millpond-simulate and of the capture take it.
//
//   direct:line=32,size=16K/32K/64K              direct-mapped caches of these sizes
//   lru:line=32,sets=64-4096,ways=8              every LRU cache of 64, 128, … 4096 sets and 1 to 8 ways
//   fifo:line=64,size=32K,ways=8                 first in, first out
//   random:line=64,size=32K,ways=8,seed=1        random replacement
//   fifo:line=32,size=16K,ways=1,write=around    a store that misses does not fetch its line; also with random
//   distances:line=64                            exact LRU stack distances of lines; of pages with line=4K
//   sampled:line=64,one_in=100                   the same, estimated from one line in 100, with its error
//   levels:line=64,size=32K/1M,ways=8/16,inclusion=inclusive     or exclusive, independent
//   tlb:page=4K,entries=64/1536,ways=4/12        translation buffers; page=2M for huge pages
//   attributed:line=64,size=32K,ways=8           misses by kind, origin and subject; replacement=lru, fifo, random
//   attributed:line=64,size=32K,ways=8,split=no  the same, with capacity and conflict misses as one: twice as fast
//   contents:line=64,size=32K,ways=8             bytes held by the code that accessed them last; replacement=lru, …
//
// Numbers take K, M and G (1024). Parsing allocates nothing. Thread-safe.
#pragma once

#include "lab/simulate/hierarchy.hpp"
#include "lab/simulate/set_cache.hpp"
#include "lab/simulate/single_cache.hpp"

namespace millpond::simulate {

enum class simulator_kind : uint8_t {
    direct,
    lru,
    fifo,
    random,
    distances,
    sampled,
    levels,
    tlb,
    attributed,
    contents
};

struct description {
    static constexpr size_t numbers_max = 32;
    struct numbers {
        uint64_t of[numbers_max] = {};
        size_t count = 0;
    };

    simulator_kind kind = simulator_kind::direct;
    numbers line, size, sets, ways, seed, one_in;
    inclusion inclusive = inclusion::independent;
    replacement rule = replacement::lru;
    write_miss write = write_miss::allocate;
    bool is_split = true;
    // Derived from the other members, for the kinds that have levels.
    level_shape shapes[hierarchy::levels_max] = {};
};

// Parses `text`. Returns null, or a half-sentence that says what is wrong with it.
const char* parse(const char* text, description& into);

}  // namespace millpond::simulate
