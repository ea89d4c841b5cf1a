// SPDX-License-Identifier: BSL-1.0
// trend_json: the growth of live bytes over time as JSON ("trend" in millpond.characterisation/1).
#pragma once

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

// Bytes per minute with 95 % intervals: of all, and of the 50 subsystems that change most. Without a trend, "why_null"
// is the reason and nothing else is there. O(subsystems).
json trend_json(const characterisation& from);

}  // namespace millpond::characterise
