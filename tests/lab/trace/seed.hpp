// SPDX-License-Identifier: BSL-1.0
// seed: the seed of a random test: --seed=N on the command line, else fresh, always printed.
#pragma once

#include <cstdint>

namespace millpond::test {

std::uint64_t seed();

}  // namespace millpond::test
