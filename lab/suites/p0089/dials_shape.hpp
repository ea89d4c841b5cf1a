// SPDX-License-Identifier: BSL-1.0
// dials_shape: turns the dials of a point into counts, which every thread then carries out.
//
//   density      d    a pair of allocation and free is taken to be as long as `pair_accesses` accesses to memory;
//                     a thread has so many accesses that pairs are d of all its work
//   variation    v    sizes, each the largest of its class, of which 1 − exp(−entropy) is v
//   utilization  u    blocks alive at once = u × blocks allocated in all
//   locality     l    accesses of a visit to a subsystem = l / (1 − l) × its blocks, each on a cache line of its own
//   contention   c    the threads have unequal shares of the allocations, so that by the definition of C it is c
//
// Dials are in thousandths. The work is the same for every strategy: the shares of time for d and c hold for a strategy
// whose pair takes as long as assumed. Pure functions. O(threads), and O(sizes drawn) for the sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/suites/frame/workload.hpp"

namespace millpond::p0089 {

// The cost of a pair in accesses, measured with the global allocator: 26 ns, where an access took 1.4 ns.
inline constexpr std::uint64_t pair_accesses = 20;
inline constexpr std::uint64_t subsystems_of_a_thread = 8;

struct dial_values {
    double density, variation, locality, utilization, contention;
    std::uint64_t threads, blocks;
    explicit dial_values(const frame::point& asked);
};

// The limits of C: equal shares for all threads, and one thread with as much as its time allows.
struct contention_range {
    double least, most;
};
contention_range contention_within(const dial_values& asked);

struct thread_work {
    std::uint64_t blocks;    // allocated in all
    std::uint64_t live;      // of them at once, in each subsystem
    std::uint64_t accesses;  // in all
    std::uint64_t visit;     // accesses to a subsystem before the next one's turn
};
std::vector<thread_work> work_of_threads(const dial_values& asked);

// Returns sizes in random order, to be used in turn and from the start again.
std::vector<std::uint32_t> sizes_of_variation(double variation, std::uint64_t seed);
inline constexpr double most_variation = 0.96;

}  // namespace millpond::p0089
