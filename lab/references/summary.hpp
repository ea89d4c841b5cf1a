// SPDX-License-Identifier: BSL-1.0
// summary: what a captured process did, counted in one pass over its references, as JSON.
#pragma once

#include <string>

namespace millpond::references {

// Throws trace_error. Damages are in the document, and said on standard error; `is_whole`: there are none. Bounded
// memory.
std::string summarize(const std::string& path, bool& is_whole);

}  // namespace millpond::references
