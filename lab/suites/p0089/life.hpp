// SPDX-License-Identifier: BSL-1.0
// life: one structure, from its allocator's construction to its end. Returns: what its leaves were, summed up.
//
// ds1 … ds12: the paper's structures, each compiled in a file with one other; they choose the code for a strategy, and
// return null for a binding that was not compiled for them.
#pragma once

#include <cstdint>

#include "lab/suites/common/structures.hpp"
#include "strategy.hpp"

namespace millpond::p0089 {

using life = std::uint64_t (*)(suites::extent wanted, suites::leaves& from);

// On the stack a structure that is winked out takes no block of its own from its allocator: whether that block is what
// winking out costs.
enum class ending : unsigned char { destroy, wink, wink_on_stack };

life ds1(strategy by, ending how);
life ds2(strategy by, ending how);
life ds3(strategy by, ending how);
life ds4(strategy by, ending how);
life ds5(strategy by, ending how);
life ds6(strategy by, ending how);
life ds7(strategy by, ending how);
life ds8(strategy by, ending how);
life ds9(strategy by, ending how);
life ds10(strategy by, ending how);
life ds11(strategy by, ending how);
life ds12(strategy by, ending how);

}  // namespace millpond::p0089
