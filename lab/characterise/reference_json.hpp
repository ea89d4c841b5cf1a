// SPDX-License-Identifier: BSL-1.0
// reference_json: what the references of a recording add to a characterisation: "references", and D, L, C as counted.
//
// All are null where the recording has no references. Counts are lab/attribution's.
#pragma once

#include <cstdint>

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

// "references" of the whole run.
json references_json(const characterisation& all);
// "references" of one subsystem.
json references_json(const characterisation& all, std::uint32_t subsystem);

// Entries of "dvluc"; only where there are references.
json counted_density_json(const characterisation& all, std::uint32_t subsystem);
json counted_contention_json(const characterisation& all, std::uint32_t subsystem);
json locality_json(const characterisation& all, std::uint32_t subsystem);

}  // namespace millpond::characterise
