// SPDX-License-Identifier: BSL-1.0
// arena_bound: the limit of an arena's memory, shared by the code that proposes arenas and the code that tries them.
#pragma once

#include <cstddef>

namespace millpond::plan {

struct arena_bound {
    // Bytes for each live byte; and a minimum.
    static constexpr std::size_t held_per_live_max = 4;
    static constexpr std::size_t held_bytes_min = std::size_t{1} << 20;
};

}  // namespace millpond::plan
