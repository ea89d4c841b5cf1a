// SPDX-License-Identifier: BSL-1.0
// plan: the allocation strategy of each subsystem of a program, in memory and as a *.plan.json file of schema
// "millpond.plan/1".
//
//   { "schema": "millpond.plan/1",
//     "program": { "path": "/usr/bin/gawk", "build_id": "4f1c…" },
//     "libraries": [ { "path": "/opt/shop/libprices.so", "build_id": "77ab…" } ],
//     "routes": [ { "subsystems": ["node_pool"], "pool": "nodes", "strategy": "multipool", "huge_pages": false },
//                 { "subsystems": ["parser"], "pool": "request", "strategy": "monotonic",
//                   "scope": { "function": "server::handle" } },
//                 { "subsystems": ["order_list"], "pool": "orders", "strategy": "multipool",
//                   "instances": [ { "module": "4f1c…", "address": "1a40", "word": "rbx" } ] },
//                 { "subsystems": ["*"], "pool": "rest", "strategy": "synchronized(multipool)" } ] }
//
// Only a monotonic route has a scope: { "function": NAME }, { "thread": true } or { "phase": true }. "function" may
// have "outermost": true (calls inside of another call of it use that call's arena) and "observed": false (a trial does
// not observe when calls begin and end; it resets the arena when nothing in it is alive). "instances" of a multipool:
// each owner has a pool of its own; each call site says where the owner's address is. "libraries", which may be
// missing, are modules with functions of the plan that the program may open while it runs. Routes that name one pool
// share it. "*" stands for every subsystem that no route names. A plan without routes leaves the program unchanged. A
// plan belongs to one build of one program.
//
// Unknown members are ignored at the top level, where later versions may add some. Inside a route they are refused,
// because a misspelt one would silently change an experiment. Also refused: a name twice in one object, more than 64
// levels of nesting, more than 16 MiB, and anything but a regular file. So is a plan whose "checksum" does not match:
// Millpond writes one, and a person who edits such a plan deletes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/plan/strategy.hpp"

namespace millpond::plan {

enum class scope_kind { none, function, thread, phase };

// The scope that an arena's life is tied to.
struct route_scope {
    scope_kind kind = scope_kind::none;
    // For scope_kind::function:
    std::string function;
    bool outermost = false;  // nested calls use the arena of the outermost one
    bool observed = true;    // a trial observes when its calls begin and end
    bool operator==(const route_scope&) const = default;
};

// The place of an owner's address at an allocation that returns to `address` of the module's file.
struct instance_key {
    std::string module;  // its build-id in hex digits, or its path if it has none
    std::uint64_t address = 0;
    std::string word;  // "rbx", "stack+16": preload/word_position.hpp
    bool operator==(const instance_key&) const = default;
};

struct route {
    std::vector<std::string> subsystems;
    std::string pool;
    strategy allocator = strategy::multipool;
    bool huge_pages = false;
    route_scope scope = {};
    std::vector<instance_key> instances = {};  // of a multipool: a pool for each owner that these find
};

struct program_identity {
    std::string path;
    std::string build_id;  // hex digits; empty if the program has none

    // "/usr/bin/gawk of build 4f1c", "/bin/tool (without a build-id)", "a program that could not be identified".
    [[nodiscard]] std::string described() const;
    [[nodiscard]] bool known() const { return !path.empty() || !build_id.empty(); }
};

struct plan {
    static constexpr const char* schema = "millpond.plan/1";
    static constexpr const char* everything_else = "*";
    static constexpr std::size_t pools_max = 200;

    program_identity program;
    std::vector<route> routes;
    std::vector<program_identity> libraries = {};  // which the program may open while it runs

    // Returns the names of the pools, each once, in the order in which the routes first name them.
    [[nodiscard]] std::vector<std::string> pools() const;
};

// The only reader of plans: Python asks it through `millpond-trial --check-plan`. Each function throws failure; its
// message names the file and the place in it.
plan read_plan(const std::string& path);
plan parse_plan(const std::string& text, const std::string& name_for_messages);
std::string to_text(const plan& printed);

}  // namespace millpond::plan
