// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/pool_totals.hpp"

#include <algorithm>

namespace millpond::trial {

pool_totals totals_of(const control& shared, std::size_t pool) {
    pool_totals sum;
    const std::size_t claimed = std::min<std::size_t>(shared.slots_claimed, control::slots);
    for (std::size_t i = 0; i < claimed; ++i) {
        const pool_totals one = totals_in(shared.processes[i], pool);
        sum.allocations += one.allocations;
        sum.deallocations += one.deallocations;
        sum.remote_deallocations += one.remote_deallocations;
        sum.refused_thread += one.refused_thread;
        sum.resets += one.resets;
        sum.calls += one.calls;
        sum.outlived_calls += one.outlived_calls;
        sum.trapped_calls += one.trapped_calls;
        sum.held_bytes = std::max(sum.held_bytes, one.held_bytes);
        sum.slab_bytes = std::max(sum.slab_bytes, one.slab_bytes);
        if (one.capped_bytes > sum.capped_bytes) {
            sum.capped_bytes = one.capped_bytes;
            sum.capped_live_bytes = one.capped_live_bytes;
        }
    }
    return sum;
}

}  // namespace millpond::trial
