// SPDX-License-Identifier: BSL-1.0
// results: the counts of a simulation as a JSON document (schema "millpond.simulation/1") and as a table.
//
//   input        path, format, instructions, references (loads, stores, modifications); of a sampled recording also
//                bursts, instructions_not_captured; for the layout of another allocator, what was moved; for an
//                incomplete recording, its damages and why it is partial
//   rules        how straddling accesses, modifications and flushes were counted
//   simulators   for each: its description, and metrics [{metric, unit, value, and what it is about}]
//   whole        next to the misses of a sampled recording: those of the whole run, with their error (burst_sample.hpp)
//   curve        for exact distances, next to the metrics: [[distance, references], …]; empty distances are left out
//   time         for each cache and penalty: I + (M x P) x D in cycles; only if the input has instructions
//
// Pure functions of a finished simulation. O(rows).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/layout/moved_reader.hpp"
#include "lab/program/json.hpp"
#include "lab/references/counts.hpp"
#include "lab/references/simulators.h"
#include "lab/simulate/burst_sample.hpp"

namespace millpond::simulate {

struct input_facts {
    std::string path, format;
    std::uint64_t instructions = 0, loads = 0, stores = 0, modifications = 0;
    std::uint64_t allocator_instructions = 0;   // of `instructions`; 0 for text
    std::string played;                         // set for a layout
    std::optional<layout::moved_totals> moved;  // set for a layout
    std::vector<trace::damage> damages;         // damages of the recording; the damaged parts are left out
    std::string partial;                        // the reason why the recording ends early; empty if it does not
};

// Returns the counts of each simulator so far.
std::vector<references::simulator_counts> counts_of(const millpond_simulation* simulation);

// `sample`: set for a sampled recording, else null.
program::json results_json(const std::vector<references::simulator_counts>& simulators, const input_facts& input,
                           const millpond_rules& rules, const std::vector<double>& penalties,
                           const burst_sample* sample = nullptr);

// Returns the same document as lines of text: at most one screen for each simulator.
std::string results_table(const program::json& results);

}  // namespace millpond::simulate
