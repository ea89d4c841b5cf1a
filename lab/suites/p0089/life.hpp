// SPDX-License-Identifier: BSL-1.0
// life: one structure, from its allocator's construction to its end. Returns: what its leaves were, summed up.
//
// The paper's structures DS1 to DS12 are compiled in three files; each chooses the code for a strategy, and returns
// null for a binding that was not compiled for it.
#pragma once

#include <cstdint>

#include "lab/suites/common/structures.hpp"
#include "strategy.hpp"

namespace millpond::p0089 {

using life = std::uint64_t (*)(suites::extent wanted, suites::leaves& from);

// On the stack a structure that is winked out takes no block of its own from its allocator: whether that block is what
// winking out costs.
enum class ending : unsigned char { destroy, wink, wink_on_stack };

using chooser = life (*)(strategy by, ending how);
// DS1 to DS4, DS5 to DS8, DS9 to DS12: of numbers and of texts, first in a vector, then in a set.
extern const chooser flat_structures[4], vectors_of_containers[4], sets_of_containers[4];

}  // namespace millpond::p0089
