// SPDX-License-Identifier: BSL-1.0
// level_time: how long a program takes that waits for every reference as long as the level takes that has its line.
//
//   instructions x CPI x cycle  +  sum over levels: hits x latency  +  sum over buffers: hits x what translation adds
//
// Levels are those of each `levels:` simulator, memory behind the last one; translation is that of the first `tlb:`
// simulator, whose last misses are page walks. Latencies are a machine's (latencies.hpp). What comes from behind the
// second level and was foreseen (neighbour_table.hpp) takes as long as a hit of the second.
// A first estimate: nothing overlaps, so it is what an in-order machine would take, and more than this one does. Where
// only one level counts, time_model.hpp has the simpler model.
// Pure functions. O(rows).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/program/json.hpp"
#include "lab/references/counts.hpp"
#include "lab/simulate/latencies.hpp"

namespace millpond::simulate {

// For each `levels:` simulator: {simulator, unit, value, cycles, …, parts [{part, count, ns_each, value}]}.
program::json level_times_json(const std::vector<references::simulator_counts>& simulators, std::uint64_t instructions,
                               const machine_latencies& machine, double cycles_per_instruction);

// The same in lines of text.
std::string level_times_table(const program::json& times);

}  // namespace millpond::simulate
