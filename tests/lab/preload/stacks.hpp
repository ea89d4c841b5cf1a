// SPDX-License-Identifier: BSL-1.0
// stacks: call stacks of many shapes, for tests of walkers. Each level goes through a function chosen by a random
// number: plain, with a frame pointer, with a frame of variable size, with a realigned stack, through the C library,
// through a std::function.
#pragma once

#include <cstdint>
#include <functional>
#include <random>

#include "preload/call_site.hpp"

namespace millpond::test {

// Called at the bottom of each stack, at its own call site.
using probe = std::function<void(const preload::call_site&)>;

// Descends `depth` levels, each drawn from `numbers`, and calls the probe from one of several places.
void descend(unsigned depth, std::mt19937_64& numbers, const probe& at_bottom);

}  // namespace millpond::test
