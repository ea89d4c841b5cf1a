// SPDX-License-Identifier: BSL-1.0
// survey: the modules that a program loads and that appear in the call stacks of its allocations, and their JSON form:
//
//   { "schema": "millpond.modules/1", "complete": true,
//     "processes": [ { "pid": 17, "program": { "path": "/usr/bin/gawk", "build_id": "4f1c…" },
//                      "modules": [ { "path": "…/libm.so.6", "build_id": "9ab0…" } ] } ] }
//
// One entry for each process image, in the order of their starts. Modules are noted as they are met, so the list
// includes those that were unloaded later, and those of a killed program.
#pragma once

#include <string>
#include <vector>

#include "lab/trial/launch.hpp"

namespace millpond::trial {

struct surveyed_module {
    std::string path;
    std::string build_id;
};

struct surveyed_process {
    int pid = 0;
    surveyed_module program;
    std::vector<surveyed_module> modules;  // the program itself among them
};

struct survey {
    static constexpr const char* schema = "millpond.modules/1";

    std::vector<surveyed_process> processes;
    bool complete = true;  // false: more processes or modules than could be noted
};

// Runs the program once. Throws failure.
survey run_survey(const launch& launched);
std::string to_text(const survey& printed);
// Throws failure (status 3), naming the field.
survey read_survey(const std::string& path);

}  // namespace millpond::trial
