// SPDX-License-Identifier: BSL-1.0
// survey_loader: lists the modules that a program starts with, as the dynamic linker names them, without running it.
//
// Use it where a run only for a survey would cost too much or change something. It misses modules that the program
// opens later: a plan's "*" decides where their allocations go.
#pragma once

#include <string>

#include "lab/trial/survey.hpp"

namespace millpond::trial {

// Surveys the program that the command starts. Throws failure (4: a static program, which loads no modules; 5: it does
// not exist).
survey survey_loader(const std::vector<std::string>& command);

}  // namespace millpond::trial
