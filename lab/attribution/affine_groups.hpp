// SPDX-License-Identifier: BSL-1.0
// affine_groups: subjects whose objects had better share one pool, by their affinity.
//
//   strength(a, b) = (visits of a that met a near object of b + those of b that met a near one of a)
//                    / (visits of a + visits of b)
//
// 1: whoever visits one of the two finds the other in the same few cache lines, if one pool holds both. 0: a line that
// both share is fetched for half of its bytes. Two groups are joined where every strength between them is at least
// `strength_min`, the strongest pair first. O(subjects³); subjects without a row stay single.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/attribution/affinity.hpp"

namespace millpond::attribution {

inline constexpr double strength_min = 0.5;

// Of two rows; 0 where nothing was visited.
double strength(const affinity& of, unsigned a, unsigned b);

// The subjects by group. Groups and their subjects are in the order of `subjects`.
std::vector<std::vector<std::uint32_t>> affine_groups(const affinity& of, const std::vector<std::uint32_t>& subjects);

}  // namespace millpond::attribution
