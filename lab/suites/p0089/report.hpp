// SPDX-License-Identifier: BSL-1.0
// report: what the suite prints: the list of all that it knows, and the one line of a round.
//
// JSON, of schema millpond.suite/1. Values that were not measured are null. O(what is printed).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workload.hpp"

namespace millpond::p0089 {

std::string list_as_json();
// `held_bytes`: kept by the allocators when everything was freed.
std::string round_as_json(const point& asked, const outcome& measured, std::optional<std::uint64_t> held_bytes);
// The line of a round that has no figures, and why: bad_alloc, predicted_bad_alloc.
std::string failure_as_json(const point& asked, const char* status);

}  // namespace millpond::p0089
