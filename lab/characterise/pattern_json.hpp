// SPDX-License-Identifier: BSL-1.0
// pattern_json: what is left, temporaries and growth of a trace as JSON, by the place in the source.
//
//   context ─▶ subsystem, function, file, line, container ─▶ one row for all contexts with the same
//
// "left", "temporaries" and "growth" of millpond.characterisation/1: the sums of the trace, then rows, the one with
// most bytes (temporaries: most blocks) first, at most rows_max. Rows cover the contexts_max contexts with most; the
// sums cover all. O(contexts · log contexts), and the debug information of these contexts.
#pragma once

#include "lab/characterise/characterisation.hpp"
#include "lab/characterise/container_list.hpp"

namespace millpond::characterise {

// Adds nothing if the characterisation is without patterns.
void add_patterns(json& to, const characterisation& from, container_list& containers);

}  // namespace millpond::characterise
