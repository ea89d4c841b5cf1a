// SPDX-License-Identifier: BSL-1.0
// dvluc: the five dimensions of a subsystem's use of an allocator, from counts. Pure functions.
//
//   D density      instructions in its operations / instructions of its threads, each from its first operation to the
//                  end of its last, or of the thread while an object of it is alive (counted, from references);
//                  without references bounded from CPU time, and a value only where it is known within density_within
//   V variation    1 − exp(−H), H the entropy in nats over size classes; exp(H) is the effective number of sizes
//   L locality     I / (I + M * T): references, lines of memory, transitions (counted; null for a recording without
//                  references)
//   U utilization  peak live bytes / bytes allocated in total
//   C contention   expected number of threads inside operations at once, counting moments with two or more, / threads
//                  (estimated: each thread inside for its share of the time, independently of the others; counted
//                  where there are references: a moment is then an instruction of each thread that is active)
//
// Every value lies in [0, 1]. An estimate beyond is no value: `estimated_share` has none then, and nothing is cut.
// Use `share_of` for parts that are counted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace millpond::characterise {

// part / whole of what was counted; 0 where there is no whole.
double share_of(double part, double whole);

// part / whole of two estimates; none where there is no whole, or where the quotient lies outside of [0, 1].
std::optional<double> estimated_share(double part, double whole);

// Whether a thread counts among those that use a subsystem (W): it performs a hundredth of the operations of the
// busiest.
constexpr bool is_working(std::uint64_t operations, std::uint64_t busiest) { return 100 * operations >= busiest; }

// Within this factor D is known, or it is null.
constexpr double density_within = 1.5;
// A program executes at most so many times the instructions of an allocator in the same time: allocators follow
// pointers, and no program we know runs faster. It may run slower without a limit (misses, system calls).
constexpr double faster_at_most = 4;

struct bounded_density {
    double at_least;
    std::optional<double> value;  // none: the bounds are further apart than density_within on either side
};

// D from times without the recorder's: at least so long in operations, at most so long in all else. The upper bound is
// 1, since nothing says how few instructions all else was. Both in one unit, not negative.
bounded_density density_of_times(double operations_least, double rest_most);

// In nats, over classes with these counts. 0 for nothing and for one class.
double entropy(std::span<const std::uint64_t> counts);

double variation(double entropy_nats);

// `inside`: for each thread that is active in the subsystem, its share of time inside operations.
double threads_inside_at_once(std::span<const double> inside);

// I / (I + M * T): accesses of a visit, I / T, against the lines of the footprint; l / (1 + l) of P0089R0's l = I / (M
// * T). 1 where the program never leaves; I must not be 0.
double locality(double accesses, double lines, double transitions);

// 0 for one thread, and where one thread alone is ever inside.
double contention(std::span<const double> inside);

// What a thread did between two moments: the share of its instructions that lay in operations.
struct thread_activity {
    double begin, end, inside;
};

// The threads inside at once, on average over the moments at which any of them is active. Moments are instructions of
// all threads, of which each active one has executed an equal part. O(threads²).
double threads_inside_at_once(std::span<const thread_activity> threads);

}  // namespace millpond::characterise
