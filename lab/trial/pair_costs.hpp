// SPDX-License-Identifier: BSL-1.0
// pair_costs: what a trial costs that a change of the source does not: for an allocation with its free, for a call.
//
//   in each round   millpond-pairs   bare, looked_up, plan of each strategy      ─▶ plan - looked_up + bare
//                                    with the allocator of each strategy by hand ─▶ what the source would have
//
// A trial's pool stands behind malloc: it finds the pool and the size of a block from its address, counts, and guards
// against signal handlers and forks. A change of the source pays for none of that, so what a plan would give is the
// trial's figure less this for each pair. Where calls of a function are observed, so that each has an arena, a call
// costs two traps besides, and the observing itself takes memory: millpond-pairs is run with its batches observed, too.
#pragma once

#include <string>

namespace millpond::trial {

// As JSON of schema "millpond.pair_costs/1": for each strategy the seconds a pair of each round, the seconds a look-up of
// an owner that is the innermost frame, and of observed calls the seconds a call and the bytes in all. Takes some 0.4 s a round. Throws failure where millpond-pairs cannot be
// run.
std::string measure_pair_costs(unsigned rounds);

}  // namespace millpond::trial
