// SPDX-License-Identifier: BSL-1.0
// counts: reads the counts that simulators made inside the captured program (`record --references --simulate`).
//
//   trace: │ … │ counts │ end │   ─▶ counts: for each simulator its description and its rows
//
// Memory: the rows. Value type; not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "lab/references/simulators.h"
#include "lab/trace/reader.hpp"

namespace millpond::references {

struct simulator_counts {
    std::string description;
    std::vector<millpond_count> rows;  // their words are static, or held by `counts`
};

struct counts {
    std::uint64_t instructions = 0;
    std::uint64_t allocator_instructions = 0;  // included above; 0 also in recordings without this count
    std::uint64_t references[3] = {};          // by millpond_reference_kind
    millpond_rules rules = {};                 // how references were counted
    std::vector<simulator_counts> simulators;
    std::vector<trace::damage> damages;  // damages of the trace
    std::string partial;                 // why the trace ends early; empty if it does not
    std::deque<std::string> words;       // metrics and units
};

// Returns the last counts of the trace; nothing if it has none. Throws trace::trace_error if it cannot be read, or if
// it is damaged and `accepts_damaged` is false. Otherwise damages are reported on standard error.
std::optional<counts> read_counts(const std::string& path, bool accepts_damaged);

}  // namespace millpond::references
