// SPDX-License-Identifier: BSL-1.0
// prepare: writes a trace as a script, and its summary as JSON ("millpond.replay.script/1").
#pragma once

#include <string>

namespace millpond::replay {

struct prepare_request {
    std::string trace, plan;  // an empty plan: everything from malloc, unless per_subsystem
    bool per_subsystem = false;
    std::string script;
    bool accepts_damaged = false;
};

// Returns: the summary as JSON text. Throws failure. O(events).
std::string prepare(const prepare_request& request);

}  // namespace millpond::replay
