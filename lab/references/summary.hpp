// SPDX-License-Identifier: BSL-1.0
// summary: what a captured process did, counted in one pass over its references, as JSON.
#pragma once

#include <string>

namespace millpond::references {

// Throws trace_error. Bounded memory.
std::string summarize(const std::string& path);

}  // namespace millpond::references
