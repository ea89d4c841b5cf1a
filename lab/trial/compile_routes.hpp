// SPDX-License-Identifier: BSL-1.0
// compile_routes: turns the names of a plan into the address ranges of a program's modules.
//
//   plan: "orders::book" → pool 1        ┐
//   survey: modules of the program       ├─▶ routes: [0x1a20, 0x1c80) of build 4f1c… → pool 1, …
//   symbols: functions of each, owners   ┘
//
// Runs once for each plan: seconds for the largest programs, because every function's name is demangled.
#pragma once

#include <string>
#include <vector>

#include "lab/plan/plan.hpp"
#include "lab/trial/survey.hpp"

namespace millpond::trial {

// Returns the content of a routes file. Throws failure: status 2 for a subsystem that no module has (the message names
// similar ones), 3 if the plan belongs to another build than any surveyed process, or if a module changed since the
// survey.
std::string compile_routes(const plan::plan& compiled, const survey& surveyed);

// A subsystem of a library that is not loaded when the program starts.
struct waiting_subsystem {
    std::string name, library;
    std::uint32_t module;  // its number in the routes
};

struct compiled_routes {
    std::string content;
    std::vector<waiting_subsystem> waiting;
    std::vector<std::string> unknown;  // subsystems that none of the modules has
};

// The same with modules that the program may open later. `is_complete`: false if further modules exist that cannot be
// read. A subsystem that no module has is then reported as unknown; otherwise it is refused.
compiled_routes compile_routes(const plan::plan& compiled, const survey& surveyed,
                               const std::vector<surveyed_module>& later, bool is_complete);

}  // namespace millpond::trial
