// SPDX-License-Identifier: BSL-1.0
// phase_json: the phases of a characterisation as JSON ("phases" in millpond.characterisation/1).
//
//   method   "marks", or "change points" of the mix of events and the growth of live bytes
//   phases   in the order in which they first began, with the subsystems that allocate most in each
#pragma once

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

// Returns null if the trace has one phase only. O(phases · subsystems).
json phases_json(const characterisation& from);

}  // namespace millpond::characterise
