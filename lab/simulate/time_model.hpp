// SPDX-License-Identifier: BSL-1.0
// time_model: estimates a program's time if it waits for each of its misses: I + (M x P) x D (Grunwald, Zorn and
// Henderson 1993).
//
//   I instructions, one a cycle · M misses a reference · P cycles a miss · D references      M x D are the misses
//
// This is a first estimate: nothing overlaps, and there is one level of cache; level_time.hpp models all levels. P is
// 25 in the paper; a miss costs more today, so other values are computed, too. Pure functions.
#pragma once

#include <stdint.h>

#include <vector>

namespace millpond::simulate {

inline constexpr double usual_miss_penalty = 25;  // P in the paper

inline std::vector<double> usual_penalty_sweep() { return {10, usual_miss_penalty, 50, 100, 200}; }

constexpr double time_cycles(uint64_t instructions, uint64_t misses, double miss_penalty_cycles) {
    return static_cast<double>(instructions) + static_cast<double>(misses) * miss_penalty_cycles;
}

}  // namespace millpond::simulate
