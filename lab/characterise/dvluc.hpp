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
// Every value lies in [0, 1]. An estimate outside is rejected, not clipped: `estimated_share` is empty then. Use
// `share_of` for counted parts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace millpond::characterise {

// Returns part / whole of counts; 0 if the whole is 0.
double share_of(double part, double whole);

// Returns part / whole of two estimates; none if the whole is 0, or if the quotient lies outside of [0, 1].
std::optional<double> estimated_share(double part, double whole);

// Returns whether a thread counts among those that use a subsystem (W): it performs at least a hundredth of the
// operations of the busiest.
constexpr bool is_working(std::uint64_t operations, std::uint64_t busiest) { return 100 * operations >= busiest; }

// D is known within this factor, or it is null.
constexpr double density_within = 1.5;
// The largest ratio of a program's instructions to an allocator's in the same time. Allocators follow pointers, and no
// program we know runs faster. A program may run slower without a limit (misses, system calls).
constexpr double faster_at_most = 4;

struct bounded_density {
    double at_least;
    std::optional<double> value;  // none: the bounds differ from it by more than density_within
};

// Bounds D from times without the recorder's: at least this long in operations, at most this long in the rest. The
// upper bound is 1, because the instructions of the rest have no lower bound. Both in one unit, not negative.
bounded_density density_of_times(double operations_least, double rest_most);

// The entropy in nats over classes with these counts. 0 for no class and for one.
double entropy(std::span<const std::uint64_t> counts);

double variation(double entropy_nats);

// `inside`: for each thread that is active in the subsystem, its share of time inside operations.
double threads_inside_at_once(std::span<const double> inside);

// Returns I / (I + M * T): accesses of a visit, I / T, against the lines of the footprint; l / (1 + l) of P0089R0's l =
// I / (M * T). 1 if the program never leaves; I must not be 0.
double locality(double accesses, double lines, double transitions);

// 0 for one thread, and if only one thread is ever inside.
double contention(std::span<const double> inside);

// The activity of one thread between two moments, and the share of its instructions in operations.
struct thread_activity {
    double begin, end, inside;
};

// Returns the mean number of threads inside at once, over the moments at which any of them is active. Moments are
// instructions of all threads, of which each active one has executed an equal part. O(threads²).
double threads_inside_at_once(std::span<const thread_activity> threads);

}  // namespace millpond::characterise
