// SPDX-License-Identifier: BSL-1.0
// results: what a simulation counted, as a JSON document (schema "millpond.simulation/1") and as a table for people.
//
//   input        path, format, instructions, references (loads, stores, modifications); of a sampled recording also
//                bursts, instructions_not_captured; of the layout of another allocator, what was moved; of a recording
//                that is not whole, its damages and why it is partial
//   rules        how straddling accesses, modifications and flushes were counted
//   simulators   for each: its description, and metrics [{metric, unit, value, and what it is about}]
//   whole        beside the misses of a sampled recording: those of the whole run, with their error (burst_sample.hpp)
//   curve        of exact distances, beside the metrics: [[distance, references], …], distances without any left out
//   time         for each cache and penalty: I + (M x P) x D in cycles; where the input has instructions
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
    std::uint64_t allocator_instructions = 0;   // of `instructions`; text does not tell them
    std::string played;                         // of a layout
    std::optional<layout::moved_totals> moved;  // the same
    std::vector<trace::damage> damages;         // of the recording: what was there is left out
    std::string partial;                        // why the recording ends early; empty where it does not
};

// What each simulator has counted so far.
std::vector<references::simulator_counts> counts_of(const millpond_simulation* simulation);

// `sample`: of a sampled recording; null of others.
program::json results_json(const std::vector<references::simulator_counts>& simulators, const input_facts& input,
                           const millpond_rules& rules, const std::vector<double>& penalties,
                           const burst_sample* sample = nullptr);

// The same document in lines of text: at most a screen for each simulator.
std::string results_table(const program::json& results);

}  // namespace millpond::simulate
