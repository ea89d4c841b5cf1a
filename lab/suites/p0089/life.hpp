// SPDX-License-Identifier: BSL-1.0
// life: one structure, from its allocator's construction to its end. Returns: the sum of its leaves.
//
// The paper's structures DS1 to DS12 are compiled in three files. Each chooses the code for a strategy, and returns
// null for a binding that it was not compiled for.
#pragma once

#include <cstdint>

#include "lab/suites/common/structures.hpp"
#include "strategy.hpp"

namespace millpond::p0089 {

using life = std::uint64_t (*)(suites::extent wanted, suites::leaves& from);

// A winked-out structure on the stack takes no block of its own from its allocator: this shows whether that block is
// the cost of winking out.
enum class ending : unsigned char { destroy, wink, wink_on_stack };

using chooser = life (*)(strategy by, ending how);
// DS1 to DS4, DS5 to DS8, DS9 to DS12: of numbers and of texts, first in a vector, then in a set.
extern const chooser flat_structures[4], vectors_of_containers[4], sets_of_containers[4];

}  // namespace millpond::p0089
