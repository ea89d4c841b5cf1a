// SPDX-License-Identifier: BSL-1.0
// round: one run of one variant in a fresh process, with what it cost and what the router did.
//
//   bare         the program alone
//   empty        under the interposer, everything passed on: the cost of being tried at all
//   shared       one synchronized multipool for everything
//   shared_huge  the same on huge pages
//   looked_up    every context looked up, the answer ignored, everything left with malloc: what a look-up costs
//   plan         the plan; against looked_up this is what its pools give
//
// One round is one call; interleaving and statistics are the conductor's.
#pragma once

#include <string>

#include "lab/trial/launch.hpp"

namespace millpond::trial {

struct round_request {
    std::string variant_name;
    std::string routes_path;  // for plan; for other variants it gives the program that they are about, and the look-ups
    std::string image_build_id;  // the same without routes; empty: every program that the round starts
    std::string result_path;
    launch launched;
};

// Whether `name` is one of the six above.
bool is_variant(const std::string& name);

// Runs the round and writes its result, JSON of schema "millpond.round/1". Throws failure; then no result was
// written.
void run_round(const round_request& request);

}  // namespace millpond::trial
