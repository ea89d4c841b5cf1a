// SPDX-License-Identifier: BSL-1.0
// reference_json: the parts of a characterisation that come from references: "references", and the counted D, L and C.
//
// All are null for a recording without references. lab/attribution does the counting.
#pragma once

#include <cstdint>

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

// "references" of the whole run.
json references_json(const characterisation& all);
// "references" of one subsystem.
json references_json(const characterisation& all, std::uint32_t subsystem);

// Entries of "dvluc"; only if there are references.
json counted_density_json(const characterisation& all, std::uint32_t subsystem);
json counted_contention_json(const characterisation& all, std::uint32_t subsystem);
json locality_json(const characterisation& all, std::uint32_t subsystem);

}  // namespace millpond::characterise
