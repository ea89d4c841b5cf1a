// SPDX-License-Identifier: BSL-1.0
// shared_pool: a pool behind malloc that all threads share. Most calls need no lock and no atomic operation.
//
//   each thread: │ pool_cache │◀─▶ │ block_depot │       the pool of libmillpond-multipool.so, with counters
//
// A signal handler that interrupted its thread's cache gets null, and its frees go to the depot.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/pool_bytes.hpp"
#include "lab/trial/pool_cache.hpp"
#include "lab/trial/process_words.hpp"
#include "preload/block_depot.hpp"
#include "preload/holder_lock.hpp"

namespace millpond::trial {

static_assert(preload::cached_classes::largest >= pooled_bytes_max);

class shared_pool {
  public:
    using thread_id = preload::holder_lock::thread_id;

    // `counters`: private ones, as process_words needs.
    shared_pool(preload::slab_space& space, std::uint16_t id, bool huge_pages, pool_counters* counters) noexcept
        : counters_(counters), id_(id), depot_(space, id, huge_pages, noted_in(counters)) {}
    shared_pool(const shared_pool&) = delete;
    shared_pool& operator=(const shared_pool&) = delete;

    // Returns null inside of another call, at the thread's end, or without memory. `alignment` at most 64.
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
        pool_cache* const cache = cache_of(thread_caches::of_this_thread());
        return cache != nullptr ? cache->allocate(bytes, alignment) : nullptr;
    }
    // The fast paths of both, inlined and without a call. Null, false: nothing has changed; call the functions next to
    // them.
    [[gnu::always_inline]] void* take_at_hand(std::size_t bytes) const noexcept {
        pool_cache* const cache = thread_caches::at_hand(id_);
        return cache != nullptr ? cache->take_at_hand(bytes) : nullptr;
    }
    [[gnu::always_inline]] bool put_at_hand(void* block, std::uint8_t size_class) const noexcept {
        pool_cache* const cache = thread_caches::at_hand(id_);
        return cache != nullptr && cache->put_at_hand(block, size_class);
    }
    // `owner` is the block's entry in the slab map.
    [[gnu::noinline]] void deallocate(void* block, preload::slab_owner owner) noexcept {
        pool_cache* const cache = cache_of(thread_caches::of_freeing_thread());
        if (cache != nullptr && cache->deallocate(block, owner.size_class)) [[likely]]
            return;
        depot_.hand_over(block);
        __atomic_fetch_add(&counters_of_process(counters_).remote_deallocations, 1, __ATOMIC_RELAXED);
    }

    // Effects: returns free memory to the system with its addresses. Returns: whether anything was returned.
    bool give_up() noexcept { return depot_.give_up(preload::thread_cache::this_thread()); }

    // For a child that has one of its parent's threads, which the locks know as `survivor`, or none that is known (0).
    void retire_unless_held_by(thread_id survivor) noexcept { depot_.retire_unless_held_by(survivor); }
    void tell_observer() noexcept { depot_.tell_observer(); }

  private:
    [[nodiscard]] pool_cache* cache_of(thread_caches* caches) noexcept {
        return caches != nullptr ? caches->of_pool(id_, depot_) : nullptr;
    }

    pool_counters* counters_;
    std::uint16_t id_;
    preload::block_depot depot_;
};

}  // namespace millpond::trial
