// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/thread_pool.hpp"

#include "lab/trial/pool_bytes.hpp"

namespace millpond::trial {

thread_pool::thread_pool(preload::slab_space& space, std::uint16_t id, bool huge_pages,
                         pool_counters* counters) noexcept
    : space_(space), counters_(counters), blocks_(preload::pool_slabs(space, id, huge_pages, noted_in(counters))) {}

void thread_pool::hand_over(void* block) noexcept {
    auto* const handed = static_cast<handed_block*>(block);
    handed_block* seen = __atomic_load_n(&handed_over_, __ATOMIC_RELAXED);
    do handed->next = seen;
    while (!__atomic_compare_exchange_n(&handed_over_, &seen, handed, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    __atomic_fetch_add(&counters_of_process(counters_).remote_deallocations, 1, __ATOMIC_RELAXED);
}

// Takes the whole list at once, so that no block can leave and come back meanwhile.
void thread_pool::drain() noexcept {
    handed_block* each = __atomic_exchange_n(&handed_over_, nullptr, __ATOMIC_ACQUIRE);
    while (each != nullptr) {
        handed_block* const next = each->next;
        blocks_.deallocate_block(each, space_.map.owner_of(each).block_bytes);
        each = next;
    }
}

}  // namespace millpond::trial
