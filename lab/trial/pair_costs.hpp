// SPDX-License-Identifier: BSL-1.0
// pair_costs: what a trial costs that a change of the source does not: for an allocation with its free, for a call.
//
//   in each round   millpond-pairs, from malloc and by hand in turns:  bare, looked_up, plan of each strategy
//                   seconds a pair: malloc - by hand of the same run    B     L          P
//                                                   a look-up  L - B    a pool behind malloc  P - (L - B)
//
// Each run compares malloc with the allocator by hand in slices of half a millisecond, so that what else the machine
// does meets both: two runs one after the other differed by more than what is sought.
//
// A trial's pool stands behind malloc: it finds the pool and the size of a block from its address, counts, and guards
// against signal handlers and forks. A change of the source pays for none of that, so what a plan would give is the
// trial's figure less this for each pair. Where calls of a function are observed, so that each has an arena, a call
// costs two traps besides, and the observing itself takes memory: millpond-pairs is run with its batches observed, too.
#pragma once

#include <string>

namespace millpond::trial {

// As JSON of schema "millpond.pair_costs/1": for each strategy the seconds a pair of each round, the seconds a look-up
// of an owner that is the innermost frame, and of observed calls the seconds a call and the bytes in all. Takes some
// 0.3 s a round. Throws failure where millpond-pairs cannot be run.
std::string measure_pair_costs(unsigned rounds);

}  // namespace millpond::trial
