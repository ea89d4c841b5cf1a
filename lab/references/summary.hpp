// SPDX-License-Identifier: BSL-1.0
// summary: counts the events and references of a captured process in one pass, as JSON.
#pragma once

#include <string>

namespace millpond::references {

// Damages are in the document, and reported on standard error; `is_whole` is set to whether there are none. Throws
// trace_error. Bounded memory.
std::string summarize(const std::string& path, bool& is_whole);

}  // namespace millpond::references
