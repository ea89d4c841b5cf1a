// SPDX-License-Identifier: BSL-1.0
// pair_costs: measures the extra costs of a trial over a change of the source, for a pair of malloc and free, and for a
// call.
//
//   in each round   millpond-pairs, from malloc and by hand in turns:  bare, looked_up, plan of each strategy
//                   seconds a pair: malloc - by hand of the same run    B     L          P
//                                                   a look-up  L - B    a pool behind malloc  P - (L - B)
//
// Each run compares malloc with the allocator by hand in slices of half a millisecond, so that other load on the
// machine affects both. Two runs one after the other differed by more than the cost that is measured.
//
// A trial's pool stands behind malloc: it finds the pool and the size of a block from its address, counts, and guards
// against signal handlers and forks. A change of the source has none of these costs. So a plan's benefit is the trial's
// figure less this cost for each pair. Where calls of a function are observed, so that each has an arena, a call also
// costs two traps, and observing takes memory. So millpond-pairs runs with its batches observed, too.
#pragma once

#include <string>

namespace millpond::trial {

// Returns JSON of schema "millpond.pair_costs/1": for each strategy the seconds a pair of each round; the seconds of a
// look-up whose owner is the innermost frame; and, of observed calls, the seconds a call and the bytes in all. Takes
// some 0.3 s a round. Throws failure if millpond-pairs cannot be run.
std::string measure_pair_costs(unsigned rounds);

}  // namespace millpond::trial
