// SPDX-License-Identifier: BSL-1.0
// context_json: the tree of contexts with what was allocated in each, for profiles (schema "millpond.contexts/1").
//
//   nodes   [parent, function, subsystem, objects, bytes, live_objects, live_bytes], parents before children;
//           node 1 is the first; parent 0 is the outside. Subsystem -1 and zeros: nothing was allocated just there.
//           live_*: when the trace ended.
//
// Only what leads to an allocation is listed. O(nodes).
#pragma once

#include <nlohmann/json.hpp>

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

json contexts_json(const characterisation& all);

}  // namespace millpond::characterise
