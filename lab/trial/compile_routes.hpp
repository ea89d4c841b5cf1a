// SPDX-License-Identifier: BSL-1.0
// compile_routes: turns the names of a plan into the address ranges of a program's modules.
//
//   plan: "orders::book" → pool 1        ┐
//   survey: modules of the program       ├─▶ routes: [0x1a20, 0x1c80) of build 4f1c… → pool 1, …
//   symbols: functions of each, owners   ┘
//
// Once for each plan: seconds for the largest programs, because every function's name is demangled.
#pragma once

#include <string>

#include "lab/plan/plan.hpp"
#include "lab/trial/survey.hpp"

namespace millpond::trial {

// The content of a file of routes. Throws failure: status 2 for a subsystem that no module has (the message names
// near ones), 3 if the plan belongs to another build than any surveyed process, or a module changed since the survey.
std::string compile_routes(const plan::plan& compiled, const survey& surveyed);

}  // namespace millpond::trial
