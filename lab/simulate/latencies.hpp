// SPDX-License-Identifier: BSL-1.0
// latencies: the cost of a load on a machine, as a function of the memory and of the number of pages in use.
//
//   `millpond doctor -o FILE.json` ──read_latencies──┐
//   this machine, now ──────────measured_latencies──┴─▶ machine_latencies ──▶ descriptions of its caches and buffers
//                                                                         └─▶ cost of a level: cache_ns, translation_ns
//
//   ns │            ┌── memory          a level's cost is that of a set well within it: halfway between
//      │      ┌─────┘                   the size of the level before it and its own size
//      │ ─────┘
//      └──────────────▶ bytes of the set
//
// Sets were measured on small pages: beyond the reach of the translation buffers their latency includes translation. It
// is subtracted where the latencies of pages and the buffers are known. All functions are pure, except reading and
// measuring.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/measure/memory_levels.hpp"
#include "lab/program/model_page.hpp"

namespace millpond::simulate {

inline constexpr std::uint64_t page_bytes = program::model_page_bytes;

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

// Reads a document of `millpond doctor`. Throws failure (input) if it is another document or has no latencies; the
// message says what to do.
machine_latencies read_latencies(const std::string& path);
// Measures this machine; takes about three seconds.
machine_latencies measured_latencies();

// Returns simulators of the machine's caches, and of its translation buffers if they are known. Empty without caches.
std::vector<std::string> machine_descriptions(const machine_latencies& machine);

// Returns the cost of a load that hits a cache of `bytes` behind one of `inner_bytes` (0: it is the first).
double cache_ns(const machine_latencies& machine, std::uint64_t inner_bytes, std::uint64_t bytes);
// Returns the cost of a load that misses all caches; the last one has `last_bytes`.
double memory_ns(const machine_latencies& machine, std::uint64_t last_bytes);
// Returns whether a set was measured that is larger than these caches; otherwise memory_ns is the latency of a cache.
bool is_beyond_caches(const machine_latencies& machine, std::uint64_t last_bytes);

// Returns the added cost of a load whose page is in a buffer of `entries` behind one of `inner_entries`. Needs `pages`.
double translation_ns(const machine_latencies& machine, std::uint64_t inner_entries, std::uint64_t entries);
// Returns the same for a page that is in no buffer (a page walk); the last buffer has `last_entries`.
double walk_ns(const machine_latencies& machine, std::uint64_t last_entries);

}  // namespace millpond::simulate
