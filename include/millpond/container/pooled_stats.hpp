// SPDX-License-Identifier: BSL-1.0
// pooled_stats: where the nodes of a pooled container lie at a moment.
//
// Plain data.
//
// Example:
//     millpond::pooled_list<int> list(1000);
//     assert(list.stats().pools == 1 && list.stats().live_slots + list.stats().outside == 1000);
#pragma once

#include <cstddef>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI {

// Where the nodes of a pooled container lie at this moment. Containers whose pools have joined share all but the last.
struct pooled_stats {
    std::size_t pools = 0;       // of its group, with live nodes or its own
    std::size_t live_slots = 0;  // nodes in those pools
    std::size_t held_bytes = 0;  // of those pools, books included
    std::size_t outside = 0;     // at most so many nodes lie in blocks of the upstream
};

}  // namespace millpond::inline MILLPOND_ABI
