// SPDX-License-Identifier: BSL-1.0
// scope_list: converts the functions to observe, from names and lists, to the addresses for a recorded process.
//
//   --scope parse ──symbols of the executable──┐
//   --scopes FILE ─────────────────────────────┴▶ 1000000;1c9f04aa…:4a30;…     (lab/probes/wanted_scopes.hpp)
//
// A list is text, written by characterise: the line "millpond.scopes/1", then BUILD-ID:ADDRESS, a tab and the name (or
// a file's path in place of the build-id), one a line. ADDRESS is that of the file, in hexadecimal. Not thread-safe.
#pragma once

#include <string>

#include "lab/record/supervisor.hpp"

namespace millpond::record {

// Returns the value for the environment; empty if nothing is to be observed. Throws failure: status 2, no such
// function; 3, no such list, or not one.
std::string find_scopes(const record_options& options, const std::string& executable);

}  // namespace millpond::record
