// SPDX-License-Identifier: BSL-1.0
// pool_totals: the counts of one pool, in one process or in all of a round.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"

namespace millpond::trial {

struct pool_totals {
    std::uint64_t allocations = 0;
    std::uint64_t deallocations = 0, remote_deallocations = 0;
    std::uint64_t refused_thread = 0;
    std::uint64_t held_bytes = 0, slab_bytes = 0;
    std::uint64_t resets = 0;                                        // of arenas
    std::uint64_t capped_bytes = 0, capped_live_bytes = 0;           // of an arena that reached the bound
    std::uint64_t calls = 0, outlived_calls = 0, trapped_calls = 0;  // observed, of functions whose calls have arenas

    [[nodiscard]] std::uint64_t frees() const noexcept { return deallocations + remote_deallocations; }
};

inline pool_totals totals_in(const process_slot& process, std::size_t pool) noexcept {
    const pool_counters& c = process.counted.pools[pool];
    pool_totals of{c.allocations,
                   c.deallocations,
                   c.remote_deallocations,
                   c.refused_thread,
                   c.held_bytes + c.arena_bytes,
                   c.slab_bytes_used + c.arena_bytes,
                   c.resets,
                   c.capped_bytes,
                   c.capped_live_bytes,
                   c.calls,
                   c.outlived_calls,
                   c.trapped_calls};
    for (const cache_counters& line : process.counted.caches) {
        if (line.pool != pool + 1) continue;
        of.allocations += line.allocations;
        of.deallocations += line.deallocations;
    }
    return of;
}

// Sums over the processes of a round. For bytes it takes the largest value, because a forked child starts with its
// parent's.
pool_totals totals_of(const control& shared, std::size_t pool);

}  // namespace millpond::trial
