// SPDX-License-Identifier: BSL-1.0
// level_time: estimates a program's time if every reference waits for the cache level that holds its line.
//
//   instructions x CPI x cycle  +  sum over levels: hits x latency  +  sum over buffers: hits x translation
//
// The levels are those of each `levels:` simulator, followed by memory. Translation is that of the first `tlb:`
// simulator; its last misses are page walks. The latencies are a machine's (latencies.hpp). A line from behind the
// second level that was foreseen (neighbour_table.hpp) costs a hit of the second level.
// This is a first estimate: nothing overlaps, as in an in-order machine, so it is more than a modern processor takes.
// For a single level, time_model.hpp has the simpler model.
// Pure functions. O(rows).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/program/json.hpp"
#include "lab/references/counts.hpp"
#include "lab/simulate/latencies.hpp"

namespace millpond::simulate {

// Returns, for each `levels:` simulator: {simulator, unit, value, cycles, …, parts [{part, count, ns_each, value}]}.
program::json level_times_json(const std::vector<references::simulator_counts>& simulators, std::uint64_t instructions,
                               const machine_latencies& machine, double cycles_per_instruction);

// Returns the same as lines of text.
std::string level_times_table(const program::json& times);

}  // namespace millpond::simulate
