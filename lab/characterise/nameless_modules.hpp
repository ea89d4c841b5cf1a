// SPDX-License-Identifier: BSL-1.0
// nameless_modules: the share of a trace's events that have a name, and the modules that lack symbols for the rest.
//
//   named_share               events of subsystems with a symbol of their own
//   near_share                events of functions without one that lie close to a function with one
//   modules_without_symbols   each module with its events and bytes without a symbol, the largest first, and the reason
//   modules_without_names     modules whose file is gone or is another build
//
// O(subsystems), plus a search for the debug file of each listed module (symbols/debug_file.hpp).
#pragma once

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

// Adds these to the facts of a trace.
void add_name_facts(json& facts, const characterisation& all);

}  // namespace millpond::characterise
