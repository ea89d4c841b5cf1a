// SPDX-License-Identifier: BSL-1.0
// opened_libraries: the libraries that a program may open while it runs, for a plan that runs without a survey, and the
// messages about subsystems that wait for them.
//
//   plan: "libraries"  ─┐
//   command: ./plugin.so ─┴─▶ modules ─▶ compile_routes ─▶ "waits for …" before the start, "never …" at the end
#pragma once

#include <string>
#include <vector>

#include "lab/plan/plan.hpp"
#include "lab/trial/compile_routes.hpp"
#include "lab/trial/control.hpp"

namespace millpond::trial {

struct opened_libraries {
    std::vector<surveyed_module> modules;
    std::vector<std::string> absent;  // the plan's libraries that its build lacks, each with the reason
};

// Returns the libraries that the plan lists, and the shared libraries among the words of the command.
opened_libraries find_opened_libraries(const plan::plan& plan, const std::vector<std::string>& command);

// Reports on standard error which subsystems wait, a line for each library, and which are unknown.
void say_what_waits(const compiled_routes& routes, const opened_libraries& libraries);
// Reports, at the end, the subsystems from whose library no allocation came.
void say_what_never_came(const compiled_routes& routes, const control& shared);

}  // namespace millpond::trial
