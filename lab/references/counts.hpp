// SPDX-License-Identifier: BSL-1.0
// counts: what simulators counted inside the captured program (`record --references --simulate`), read from its trace.
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
    std::vector<millpond_count> rows;  // their words are static, or those of `counts`
};

struct counts {
    std::uint64_t instructions = 0;
    std::uint64_t allocator_instructions = 0;  // of these; 0 also in recordings that did not count them
    std::uint64_t references[3] = {};          // of each millpond_reference_kind
    millpond_rules rules = {};                 // by which they were counted
    std::vector<simulator_counts> simulators;
    std::vector<trace::damage> damages;  // of the trace
    std::string partial;                 // why the trace ends early; empty where it does not
    std::deque<std::string> words;       // metrics and units
};

// The last counts of the trace; nothing where it has none. Throws trace::trace_error where it cannot be read, and where
// it is damaged unless `accepts_damaged`: then what is left is said on standard error.
std::optional<counts> read_counts(const std::string& path, bool accepts_damaged);

}  // namespace millpond::references
