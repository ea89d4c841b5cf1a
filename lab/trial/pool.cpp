// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/pool.hpp"

#include "lab/trial/process_words.hpp"
#include "preload/pages.hpp"

namespace millpond::trial {

pool::pool(preload::slab_space& space, std::uint16_t id, pool_kind kind, bool huge_pages,
           pool_counters* counters) noexcept
    : counters_(counters), kind_(kind), shared_(nullptr) {
    if (kind == pool_kind::one_thread) {
        new (&own_) thread_pool(space, id, huge_pages, counters);
    } else if (kind == pool_kind::shared) {
        auto* const memory = preload::take_pages<shared_pool>(sizeof(shared_pool));
        if (memory != nullptr) shared_ = new (memory) shared_pool(space, id, huge_pages, counters);
    } else if (kind == pool_kind::instances) {
        new (&instances_) instance_pool(space, id, huge_pages, counters);
    } else {
        new (&arenas_) arena_pool(space, id, huge_pages, kind, counters);
    }
}

void* pool::allocate_for(std::uintptr_t owner, std::size_t bytes, std::size_t alignment, thread_id self) noexcept {
    void* const p = instances_.allocate(bytes, alignment, self, owner);
    const std::size_t capped = instances_.blocks().capped_bytes();
    if (p == nullptr && capped != 0) [[unlikely]] {
        pool_counters& to = counters_of_process(counters_);
        to.capped_bytes = capped;
        to.capped_live_bytes = instances_.blocks().capped_live_bytes();
    }
    return p;
}

void pool::retire_unless_of(thread_id survivor, thread_id lock_holder) noexcept {
    if (kind_ == pool_kind::one_thread)
        own_.retire_unless_of(survivor);
    else if (kind_ == pool_kind::shared)
        shared_->retire_unless_held_by(lock_holder);
    else if (kind_ == pool_kind::instances)
        instances_.retire_unless_of(survivor);
    else
        arenas_.retire_unless_of(survivor, lock_holder);
}

void pool::report_inherited() noexcept {
    pool_counters& to = counters_of_process(counters_);
    if (&to == counters_) return;
    const pool_counters before = *counters_;
    *counters_ = {};
    to.allocations += before.allocations;
    to.deallocations += before.deallocations;
    __atomic_fetch_add(&to.remote_deallocations, before.remote_deallocations, __ATOMIC_RELAXED);
    __atomic_fetch_add(&to.refused_thread, before.refused_thread, __ATOMIC_RELAXED);
    __atomic_fetch_add(&to.resets, before.resets, __ATOMIC_RELAXED);
    __atomic_fetch_add(&to.calls, before.calls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&to.outlived_calls, before.outlived_calls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&to.trapped_calls, before.trapped_calls, __ATOMIC_RELAXED);
    if (kind_ == pool_kind::one_thread)
        own_.tell_observer();
    else if (kind_ == pool_kind::shared)
        shared_->tell_observer();
    else if (kind_ == pool_kind::instances)
        instances_.tell_observer();
    else
        arenas_.tell_observer();
}

}  // namespace millpond::trial
