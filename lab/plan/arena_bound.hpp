// SPDX-License-Identifier: BSL-1.0
// arena_bound: what an arena may hold, by those who propose one and those who try it.
#pragma once

#include <cstddef>

namespace millpond::plan {

struct arena_bound {
    // For each byte that is alive in it; and in any case.
    static constexpr std::size_t held_per_live_max = 4;
    static constexpr std::size_t held_bytes_min = std::size_t{1} << 20;
};

}  // namespace millpond::plan
