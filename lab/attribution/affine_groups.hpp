// SPDX-License-Identifier: BSL-1.0
// affine_groups: groups of subjects whose objects should share one pool, formed by affinity.
//
//   strength(a, b) = (visits of a that met a near object of b + those of b that met a near one of a)
//                    / (visits of a + visits of b)
//
// 1: a visit of either subject finds the other in the same few cache lines, if one pool holds both. 0: a line that
// holds both is fetched for only half of its bytes. Two groups are joined if every strength between them is at least
// `strength_min`; the strongest pair is joined first. O(subjects³). Subjects without a row stay single.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/attribution/affinity.hpp"

namespace millpond::attribution {

inline constexpr double strength_min = 0.5;

// Returns the strength between two rows; 0 if there were no visits.
double strength(const affinity& of, unsigned a, unsigned b);

// Returns the subjects by group. Groups, and the subjects in each, keep the order of `subjects`.
std::vector<std::vector<std::uint32_t>> affine_groups(const affinity& of, const std::vector<std::uint32_t>& subjects);

}  // namespace millpond::attribution
