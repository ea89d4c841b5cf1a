// SPDX-License-Identifier: BSL-1.0
// round: one run of one variant in a fresh process, its costs, and the router's counters.
//
//   bare         the program only
//   empty        the interposer passes everything on: the cost of the trial itself
//   shared       one synchronized multipool for everything
//   shared_huge  the same on huge pages
//   looked_up    looks every context up, but leaves everything with malloc: the cost of a look-up
//   plan         the plan; the difference from looked_up is the effect of its pools
//
// One call runs one round; the conductor interleaves rounds and computes statistics.
#pragma once

#include <string>

#include "lab/trial/launch.hpp"

namespace millpond::trial {

struct round_request {
    std::string variant_name;
    std::string routes_path;     // for plan; other variants take the tried program and the look-ups from it
    std::string image_build_id;  // the tried program, without routes; empty: every program that the round starts
    std::string result_path;
    launch launched;
};

// Returns whether `name` is one of the six above.
bool is_variant(const std::string& name);

// Runs the round and writes its result, JSON of schema "millpond.round/1". Throws failure; then no result was written.
void run_round(const round_request& request);

}  // namespace millpond::trial
