// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/pool_totals.hpp"

#include <algorithm>

namespace millpond::trial {

pool_totals totals_of(const control& shared, std::size_t pool) {
    pool_totals sum;
    const std::size_t claimed = std::min<std::size_t>(shared.slots_claimed, control::slots);
    for (std::size_t i = 0; i < claimed; ++i) {
        const all_pool_counters& counted = shared.processes[i].counted;
        const pool_counters& c = counted.pools[pool];
        sum.allocations += c.allocations;
        sum.deallocations += c.deallocations;
        sum.remote_deallocations += c.remote_deallocations;
        sum.refused_thread += c.refused_thread;
        for (const cache_counters& line : counted.caches) {
            if (line.pool != pool + 1) continue;
            sum.allocations += line.allocations;
            sum.deallocations += line.deallocations;
        }
        sum.held_bytes = std::max(sum.held_bytes, c.held_bytes + c.arena_bytes);
        sum.slab_bytes = std::max(sum.slab_bytes, c.slab_bytes_used + c.arena_bytes);
        sum.resets += c.resets;
        sum.padding_bytes = std::max(sum.padding_bytes, c.padding_bytes);
        if (c.capped_bytes > sum.capped_bytes) {
            sum.capped_bytes = c.capped_bytes;
            sum.capped_live_bytes = c.capped_live_bytes;
        }
    }
    return sum;
}

}  // namespace millpond::trial
