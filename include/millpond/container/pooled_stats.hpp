// SPDX-License-Identifier: BSL-1.0
// pooled_stats: the numbers of nodes of a pooled container in pools and outside, at one moment.
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

// The nodes of a pooled container at one moment. Containers whose pools have joined share all figures but the last.
struct pooled_stats {
    std::size_t pools = 0;       // pools of its group with live nodes, and its own
    std::size_t live_slots = 0;  // nodes in those pools
    std::size_t held_bytes = 0;  // bytes of those pools, bookkeeping included
    std::size_t outside = 0;     // most nodes in blocks of the upstream
};

}  // namespace millpond::inline MILLPOND_ABI
