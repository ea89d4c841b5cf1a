// SPDX-License-Identifier: BSL-1.0
// suite: the program of a document's benchmarks: one point under one strategy, one round in a fresh process.
//
//   millpond-NAME-suite --list
//   millpond-NAME-suite --workload W --strategy S [--PARAMETER VALUE]... [--seed N] [--litter F]
//                       [--memory-limit-bytes N] [--counters] [--event NAME]... [--perf-control CTL,ACK]
//
//   arguments ──▶ point ──▶ littering ──▶ prepare ──▶ workload::run ──▶ one line of JSON, millpond.suite/1
//
// The conductor interleaves rounds and judges. A round that runs out of memory has "status": "bad_alloc". Exit status:
// 0 done, that included · 2 usage, an unknown name or value · 4 no room to write, or the environment lacks something.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/measure/littering.hpp"
#include "workload.hpp"

namespace millpond::experiment {

// A strategy's canonical name, and the document's own; empty where it has none.
struct strategy_name {
    std::string name, alias = {};
};

struct suite {
    std::string_view name;
    std::string_view of;  // what the usage says that it is
    std::span<const workload* const> workloads;
    const std::vector<strategy_name>& (*strategies)();
    // Effects: what has to be before the run of a point. After the heap was littered.
    void (*prepare)(const point&);
    // Effects: adds to what was measured what can be said when everything was freed.
    void (*conclude)(const point&, outcome&);
    // Effects: runs the point once on the process's heap, and notes every block that it asks for.
    void (*note_blocks)(const point&, measure::littering&);
};

// Runs what the command line asks for. Returns: the exit status.
int run_suite(const suite& of, int argc, char** argv) noexcept;

}  // namespace millpond::experiment
