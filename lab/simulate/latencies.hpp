// SPDX-License-Identifier: BSL-1.0
// latencies: what a load costs on a machine, by how much memory it is one of, and by how many pages.
//
//   `millpond doctor --json=FILE` ──read_latencies──┐
//   this machine, now ──────────measured_latencies──┴─▶ machine_latencies ──▶ descriptions of its caches and buffers
//                                                                         └─▶ cost of a level: cache_ns, translation_ns
//
//   ns │            ┌── memory          a level costs what a set costs that lies well within it: between the size of
//      │      ┌─────┘                   the level in front of it and its own, in the middle of the two
//      │ ─────┘
//      └──────────────▶ bytes of the set
//
// Sets were measured on small pages, so that beyond the reach of the translation buffers their latency has translation
// in it; it is taken out again where the latencies of pages and the buffers are known. All but reading and measuring is
// pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/measure/memory_levels.hpp"

namespace millpond::simulate {

inline constexpr std::uint64_t page_bytes = 4096;

struct latency_point {
    std::uint64_t size;  // bytes, or pages
    double ns;
};

struct machine_latencies {
    std::string from;
    double cycle_ns = 0;
    std::vector<latency_point> sets, pages;  // ascending; `pages` may be empty
    std::vector<measure::data_cache> caches;
    std::vector<measure::translation_buffer> buffers;
};

// Throws failure (input) for what is no such document, or has no latencies; it says what to do.
machine_latencies read_latencies(const std::string& path);
// Takes about three seconds.
machine_latencies measured_latencies();

// Simulators of the machine's caches, and of its translation buffers where they are known. Empty without caches.
std::vector<std::string> machine_descriptions(const machine_latencies& machine);

// One load that hits a cache of `bytes` behind one of `inner_bytes` (0: there is none).
double cache_ns(const machine_latencies& machine, std::uint64_t inner_bytes, std::uint64_t bytes);
// One load that misses all caches, of which the last has so many bytes.
double memory_ns(const machine_latencies& machine, std::uint64_t last_bytes);
// Whether a set was measured that such caches cannot hold: else memory_ns is the latency of a cache.
bool is_beyond_caches(const machine_latencies& machine, std::uint64_t last_bytes);

// What a load costs more whose page is in a buffer of `entries` behind one of `inner_entries`. Needs `pages`.
double translation_ns(const machine_latencies& machine, std::uint64_t inner_entries, std::uint64_t entries);
// The same where it is in none, of which the last has so many entries: a page walk.
double walk_ns(const machine_latencies& machine, std::uint64_t last_entries);

}  // namespace millpond::simulate
