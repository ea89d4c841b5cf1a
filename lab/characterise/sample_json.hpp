// SPDX-License-Identifier: BSL-1.0
// sample_json: marks the figures of a sampled trace as estimates: adds their intervals, and takes out what a sample
// cannot tell. Does nothing for a trace with every event.
#pragma once

#include <cstdint>

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

// To the JSON of a subsystem: "sampled_objects", "intervals"; dimensions, legality and pages become unknown.
void add_estimates(json& one, const characterisation& all, std::uint32_t subsystem);
// To the JSON of the whole: the same, and notes.
void add_estimates(json& all, const characterisation& from);

}  // namespace millpond::characterise
