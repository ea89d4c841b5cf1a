// SPDX-License-Identifier: BSL-1.0
// launch: what a round and a survey have in common: the program to run, its streams, and the library preloaded into it.
#pragma once

#include <string>
#include <vector>

#include "lab/measure/measurement.hpp"

namespace millpond::trial {

struct launch {
    std::vector<std::string> arguments;  // argv[0] is the program as the user names it
    std::string stdin_path, stdout_path, stderr_path;
    std::size_t padding_bytes = 0;       // of the environment; see measurement.hpp
    std::vector<std::string> variables;  // NAME=VALUE, set for the program; another malloc is tried by LD_PRELOAD
};

// libmillpond-trial.so, seen from this program's own place. Throws failure if it is not there.
std::string trial_library_path();

// Runs the program with the library preloaded and told of `control_path`, or as it is if that is empty. `scopes`: the
// functions whose calls are observed, as routes_file::scopes lists them; libmillpond-probes.so is preloaded too.
// Throws failure with the statuses of measure::start.
measure::measurement run(const launch& launched, const std::string& control_path, const std::string& scopes = {});

}  // namespace millpond::trial
