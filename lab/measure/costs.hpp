// SPDX-License-Identifier: BSL-1.0
// costs: what this machine takes for the few operations that every figure of a heap is made of.
//
//   one sample = many operations in a row / their number        11 samples: median, least, most
//
// Use it to know what a saved page fault or a saved allocation is worth here, never as a benchmark of anything else.
// Single-threaded; takes about two seconds in all. Memory that a measurement maps is given back before it returns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace millpond::measure {

// Nanoseconds for one operation, one value a sample, in the order in which they were taken.
using cost_samples = std::vector<double>;

inline constexpr std::size_t cost_sample_count = 11;

cost_samples cycle_cost();       // one cycle of the core: an addition of two registers that waits for the one before
cost_samples time_stamp_cost();  // one rdtsc (elsewhere than on x86-64: the clock's cost)
cost_samples clock_cost();       // one clock_gettime(CLOCK_MONOTONIC)
cost_samples allocation_cost();  // one malloc of 64 bytes and its free, the heap small and warm

// One first touch of an anonymous page of the system's size, huge pages off. Empty if memory cannot be mapped.
cost_samples page_fault_cost();

// One dependent load from each of 15 sets, 4 KiB, 8 KiB, … 64 MiB, whose lines are visited in random order. Each cache
// is a plateau of the curve; the last set is what no cache holds. Pages are small ones, so where a set has more of them
// than the translation buffers, their misses are in the figure, as they are in a program's.
inline constexpr std::size_t smallest_set_bytes = std::size_t{4} << 10;
inline constexpr std::size_t largest_set_bytes = std::size_t{64} << 20;
struct set_latency {
    std::size_t set_bytes;
    cost_samples samples;
};
std::vector<set_latency> memory_latencies();

// One dependent load from each of 16, 32, … 16384 small pages, one line of each, in random order: the lines of all fit
// into an inner cache, so what the curve adds to memory_latencies' is address translation.
inline constexpr std::size_t fewest_pages = 16, most_pages = 16384;
struct page_latency {
    std::size_t pages;
    cost_samples samples;
};
std::vector<page_latency> page_latencies();

struct huge_page_cost {
    cost_samples samples;  // the first touch of a whole huge page, asked for by MADV_HUGEPAGE
    std::string why_none;  // not empty where the kernel gave none
};
huge_page_cost huge_page_fault_cost();

// Whether the time stamp counter ticks at one rate through all sleep and frequency states; nothing where unknown.
std::optional<bool> time_stamp_is_invariant();

// A fixed piece of work for measuring noise: `steps` times an object of a small heap is replaced by another. Returns a
// number that depends on all of it.
unsigned long spin(unsigned long steps);

}  // namespace millpond::measure
