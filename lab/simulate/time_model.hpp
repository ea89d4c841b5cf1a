// SPDX-License-Identifier: BSL-1.0
// time_model: how long a program takes that waits for each of its misses: I + (M x P) x D (Grunwald, Zorn and Henderson
// 1993).
//
//   I instructions, one a cycle · M misses a reference · P cycles a miss · D references      M x D are the misses
//
// A first estimate: nothing overlaps, and there is one level. Pure functions.
#pragma once

#include <stdint.h>

namespace millpond::simulate {

inline constexpr double usual_miss_penalty = 25;  // the document's P

constexpr double time_cycles(uint64_t instructions, uint64_t misses, double miss_penalty_cycles) {
    return static_cast<double>(instructions) + static_cast<double>(misses) * miss_penalty_cycles;
}

}  // namespace millpond::simulate
