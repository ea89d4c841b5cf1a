// SPDX-License-Identifier: BSL-1.0
// report: what the suite prints: the list of all that it knows, and the one line of a cell.
//
// JSON, of schema millpond.library_suite/1. Values that were not measured are null. O(what is printed).
#pragma once

#include <string>

#include "cell.hpp"
#include "workload.hpp"

namespace millpond::suites {

std::string list_as_json();
std::string cell_as_json(const workload& of, const cell& asked, const outcome& measured);
// The line of a cell that ran out of memory.
std::string bad_alloc_as_json(const cell& asked);

}  // namespace millpond::suites
