// SPDX-License-Identifier: BSL-1.0
// characterisation_json: the JSON form of a characterisation, and the part of it that needs no table of live objects.
//
//   characterisation ── to_json ──▶ {schema, trace, process, subsystems, heat_map, pins, references, notes, window}
//   trace ── summarise ───────────▶ {schema, trace, process}
//
// Schema "millpond.characterisation/1". Reads debug information for places in the source; O(contexts). Thread-safe for
// different characterisations.
#pragma once

#include <string>

#include "lab/characterise/characterisation.hpp"
#include "lab/program/json.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

json to_json(const characterisation& from);

// Returns only the parts "trace" and "process", which need neither symbols nor the table of live objects. Throws
// trace::trace_error for a damaged trace unless that is accepted.
json summarise(const std::string& path, bool accepts_damaged = false);

// The part "process", and the members of "trace" that come from the reader instead of from events.
json process_json(const trace::process_record& process);
void add_trace_facts(json& facts, const trace::reader& reader);

}  // namespace millpond::characterise
