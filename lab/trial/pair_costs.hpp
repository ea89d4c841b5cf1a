// SPDX-License-Identifier: BSL-1.0
// pair_costs: what an allocation and its free take longer in a trial's pool than in the library's, which is inlined.
//
//   in each round   millpond-pairs   bare, looked_up, plan of each strategy      ─▶ plan - looked_up + bare
//                                    with the allocator of each strategy by hand ─▶ what the source would have
//
// A trial's pool stands behind malloc: it finds the pool and the size of a block from its address, counts, and guards
// against signal handlers and forks. A change of the source pays for none of that, so what a plan would give is the
// trial's figure less this for each pair.
#pragma once

#include <string>

namespace millpond::trial {

// As JSON of schema "millpond.pair_costs/1": for each strategy the seconds a pair of each round. Takes some 0.4 s a
// round. Throws trial_error where millpond-pairs cannot be run.
std::string measure_pair_costs(unsigned rounds);

}  // namespace millpond::trial
