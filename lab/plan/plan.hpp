// SPDX-License-Identifier: BSL-1.0
// plan: which strategy each subsystem of a program gets. In memory, and as a *.plan.json file of schema
// "millpond.plan/1".
//
//   { "schema": "millpond.plan/1",
//     "program": { "path": "/usr/bin/gawk", "build_id": "4f1c…" },
//     "routes": [ { "subsystems": ["node_pool"], "pool": "nodes", "strategy": "multipool", "huge_pages": false },
//                 { "subsystems": ["*"], "pool": "rest", "strategy": "synchronized(multipool)", "huge_pages": false } ]
//                 }
//
// Routes that name one pool share it. "*" stands for every subsystem that no route names. No routes is the empty plan:
// the program as it is. A plan belongs to one build of one program. Members that this version does not know are ignored
// at the top level, where later versions may add some, and refused inside a route, where a misspelt one would silently
// change an experiment.
#pragma once

#include <string>
#include <vector>

#include "lab/plan/strategy.hpp"

namespace millpond::lab {

struct route {
    std::vector<std::string> subsystems;
    std::string pool;
    strategy allocator = strategy::multipool;
    bool huge_pages = false;
};

struct program_identity {
    std::string path;
    std::string build_id;  // hex digits; empty if the program has none
};

struct plan {
    static constexpr const char* schema = "millpond.plan/1";
    static constexpr const char* everything_else = "*";
    static constexpr std::size_t pools_max = 200;

    program_identity program;
    std::vector<route> routes;

    // The names of the pools, each once, in the order in which the routes name them first.
    [[nodiscard]] std::vector<std::string> pools() const;
};

// Each throws plan_error; its message names the file and the field.
plan read_plan(const std::string& path);
plan parse_plan(const std::string& text, const std::string& name_for_messages);
// Writes beside `path` and renames, so that no reader meets half a plan. Refuses what read_plan would refuse.
void write_plan(const plan& written, const std::string& path);
std::string to_text(const plan& printed);

}  // namespace millpond::lab
