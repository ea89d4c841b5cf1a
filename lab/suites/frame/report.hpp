// SPDX-License-Identifier: BSL-1.0
// report: prints the list of everything in the suite, and the one line of a round.
//
// JSON, of schema millpond.suite/2 (README.md). Values that were not measured are null. O(size of the output).
#pragma once

#include <string>

#include "suite.hpp"

namespace millpond::frame {

std::string list_as_json(const suite& of);
std::string round_as_json(const suite& in, const point& asked, const outcome& measured);
// The line of a round without figures, and the reason: bad_alloc, predicted_bad_alloc.
std::string failure_as_json(const suite& in, const point& asked, const char* status);

}  // namespace millpond::frame
