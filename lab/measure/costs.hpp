// SPDX-License-Identifier: BSL-1.0
// costs: measures this machine's time for the few basic operations that make up the cost of a heap.
//
//   one sample = many operations in a row / their number        11 samples: median, least, most
//
// Use it to learn how much time a saved page fault or allocation is worth here, never as a benchmark of anything else.
// Single-threaded; takes about two seconds in all. Each measurement unmaps its memory before it returns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace millpond::measure {

// Nanoseconds for one operation, one value for each sample, in the order of measurement.
using cost_samples = std::vector<double>;

inline constexpr std::size_t cost_sample_count = 11;

cost_samples cycle_cost();       // one cycle of the core: an addition that depends on the one before
cost_samples time_stamp_cost();  // one rdtsc (elsewhere than on x86-64: the clock's cost)
cost_samples clock_cost();       // one clock_gettime(CLOCK_MONOTONIC)
cost_samples allocation_cost();  // one malloc of 64 bytes and its free, the heap small and warm

// One first touch of an anonymous page of the system's size, huge pages off. Empty if memory cannot be mapped.
cost_samples page_fault_cost();

// One dependent load from each of 15 sets, 4 KiB, 8 KiB, … 64 MiB, whose lines are visited in random order. Each cache
// is a plateau of the curve; the last set fits into no cache. Pages are small. So if a set has more of them than the
// translation buffers, the figure includes their misses, as in a program.
inline constexpr std::size_t smallest_set_bytes = std::size_t{4} << 10;
inline constexpr std::size_t largest_set_bytes = std::size_t{64} << 20;
struct set_latency {
    std::size_t set_bytes;
    cost_samples samples;
};
std::vector<set_latency> memory_latencies();

// One dependent load from each of 16, 32, … 16384 small pages, one line of each, in random order. All lines fit into an
// inner cache, so the time above that of memory_latencies is address translation.
inline constexpr std::size_t fewest_pages = 16, most_pages = 16384;
struct page_latency {
    std::size_t pages;
    cost_samples samples;
};
std::vector<page_latency> page_latencies();

struct huge_page_cost {
    cost_samples samples;  // the first touch of a whole huge page, requested by MADV_HUGEPAGE
    std::string why_none;  // the reason if the kernel gave no huge page, else empty
};
huge_page_cost huge_page_fault_cost();

// Returns whether the time stamp counter ticks at one rate in all sleep and frequency states; empty if unknown.
std::optional<bool> time_stamp_is_invariant();

// A fixed piece of work for measuring noise: replaces an object of a small heap by another, `steps` times. Returns a
// number that depends on all of the work.
unsigned long spin(unsigned long steps);

}  // namespace millpond::measure
