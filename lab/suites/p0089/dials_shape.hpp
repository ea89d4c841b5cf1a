// SPDX-License-Identifier: BSL-1.0
// dials_shape: what the dials of a point come to: counts, which every thread then simply carries out.
//
//   density      d    a pair of allocation and free is taken to be as long as `pair_accesses` accesses to memory;
//                     a thread has so many accesses that pairs are d of all its work
//   variation    v    sizes, each the largest of its class, of which 1 − exp(−entropy) is v
//   utilization  u    blocks alive at once = u × blocks allocated in all
//   locality     l    accesses of a visit to a subsystem = l / (1 − l) × its blocks, each on a cache line of its own
//   contention   c    the threads have unequal shares of the allocations, so that by the definition of C it is c
//
// Dials are in thousandths. The work is the same for every strategy: the shares of time that d and c name hold for one
// whose pair takes as long as said. Pure functions. O(threads), and O(sizes drawn) for the sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/suites/frame/workload.hpp"

namespace millpond::p0089 {

// What a pair of the global allocator's took where this was laid out: 26 ns, an access 1.4.
inline constexpr std::uint64_t pair_accesses = 20;
inline constexpr std::uint64_t subsystems_of_a_thread = 8;

struct dial_values {
    double density, variation, locality, utilization, contention;
    std::uint64_t threads, blocks;
    explicit dial_values(const frame::point& asked);
};

// The least and the most that C can be: all threads alike, and one of them with all that it has time for.
struct contention_range {
    double least, most;
};
contention_range contention_within(const dial_values& asked);

struct thread_work {
    std::uint64_t blocks;    // allocated in all
    std::uint64_t live;      // of them at once in each subsystem
    std::uint64_t accesses;  // in all
    std::uint64_t visit;     // accesses of a subsystem, before the next one's turn
};
std::vector<thread_work> work_of_threads(const dial_values& asked);

// Sizes in random order, to be used in turn, again and again.
std::vector<std::uint32_t> sizes_of_variation(double variation, std::uint64_t seed);
inline constexpr double most_variation = 0.96;

}  // namespace millpond::p0089
