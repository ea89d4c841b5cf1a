// SPDX-License-Identifier: BSL-1.0
// launch: the start of a program for a round or a survey: the program, its streams, and the library preloaded into it.
#pragma once

#include <string>
#include <vector>

#include "lab/measure/measurement.hpp"

namespace millpond::trial {

struct launch {
    std::vector<std::string> arguments;  // argv[0] is the program as the user names it
    std::string stdin_path, stdout_path, stderr_path;
    std::size_t padding_bytes = 0;       // of the environment; see measurement.hpp
    std::vector<std::string> variables;  // NAME=VALUE, set for the program; LD_PRELOAD selects another malloc
};

// Returns the path of libmillpond-trial.so, relative to this executable. Throws failure if it is not there.
std::string trial_library_path();

// Runs the program with the library preloaded and told of `control_path`, or unchanged if that is empty. `scopes`: the
// functions whose calls are observed, in the form of routes_file::scopes; then libmillpond-probes.so is preloaded, too.
// Throws failure with the statuses of measure::start.
measure::measurement run(const launch& launched, const std::string& control_path, const std::string& scopes = {});

}  // namespace millpond::trial
