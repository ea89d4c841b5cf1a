// SPDX-License-Identifier: BSL-1.0
// survey_loader: the modules that a program begins with, as the dynamic linker names them; the program does not run.
//
// Use it where a run for a survey alone would cost too much or change something. Modules that the program opens later
// are not in it: what they allocate goes where a plan's "*" sends it.
#pragma once

#include <string>

#include "lab/trial/survey.hpp"

namespace millpond::trial {

// Of the program that the command starts. Throws failure (4: a static program, which loads none; 5: it does not exist).
survey survey_loader(const std::vector<std::string>& command);

}  // namespace millpond::trial
