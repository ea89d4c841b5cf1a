// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/pool.hpp"

namespace millpond::trial {

void pool::hand_over(void* block) noexcept {
    if (depot_ != nullptr) {
        depot_->hand_over(block);
    } else {
        auto* const handed = static_cast<handed_block*>(block);
        handed_block* seen = __atomic_load_n(&handed_over_, __ATOMIC_RELAXED);
        do handed->next = seen;
        while (!__atomic_compare_exchange_n(&handed_over_, &seen, handed, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    }
    __atomic_fetch_add(&counters().remote_deallocations, 1, __ATOMIC_RELAXED);
}

// Takes the whole list at once, so that no block can leave and come back meanwhile.
void pool::drain() noexcept {
    handed_block* each = __atomic_exchange_n(&handed_over_, nullptr, __ATOMIC_ACQUIRE);
    while (each != nullptr) {
        handed_block* const next = each->next;
        blocks_.deallocate_block(each, space_.map.owner_of(each).block_bytes);
        each = next;
    }
}

void pool::note_bytes(void* counters, std::size_t held, std::size_t used) noexcept {
    pool_counters& to = counters_of_process(static_cast<pool_counters*>(counters));
    to.held_bytes = held;
    to.slab_bytes_used = used;
}

void pool::report_inherited() noexcept {
    pool_counters& to = counters();
    if (&to == counters_) return;
    const pool_counters before = *counters_;
    *counters_ = {};
    to.allocations += before.allocations;
    to.deallocations += before.deallocations;
    __atomic_fetch_add(&to.remote_deallocations, before.remote_deallocations, __ATOMIC_RELAXED);
    __atomic_fetch_add(&to.refused_thread, before.refused_thread, __ATOMIC_RELAXED);
    if (depot_ != nullptr)
        depot_->tell_observer();
    else
        blocks_.source().tell_observer();
}

}  // namespace millpond::trial
