// SPDX-License-Identifier: BSL-1.0
// totals_of: what one pool did in all processes of a round.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"

namespace millpond::trial {

// Sums over the processes; of bytes the most that one had, because a forked child starts with its parent's.
struct pool_totals {
    std::uint64_t allocations = 0;
    std::uint64_t deallocations = 0, remote_deallocations = 0;
    std::uint64_t refused_thread = 0;
    std::uint64_t held_bytes = 0, slab_bytes = 0;
    std::uint64_t resets = 0, padding_bytes = 0;            // of arenas
    std::uint64_t capped_bytes = 0, capped_live_bytes = 0;  // of an arena that had to stop

    [[nodiscard]] std::uint64_t frees() const noexcept { return deallocations + remote_deallocations; }
};

pool_totals totals_of(const control& shared, std::size_t pool);

}  // namespace millpond::trial
