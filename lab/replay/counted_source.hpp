// SPDX-License-Identifier: BSL-1.0
// counted_source: the default block source, with a count of the bytes that allocators hold, and a limit.
//
//   multipool<counted_source> ──chunks──▶ counted_source ──▶ chunk_cache
//                                         held, at most held, refuses beyond the limit
//
// The counts cover all pools of the process. The limit keeps a strategy that never returns memory (monotonic) from
// filling the machine: it sees "no memory" instead. O(1) on top of the source. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>

#include "millpond/block/chunk_cache.hpp"

namespace millpond::replay {

struct source_counts {
    std::atomic<std::size_t> held_bytes{0}, most_bytes{0};
    std::size_t limit_bytes = std::numeric_limits<std::size_t>::max();
};
inline constinit source_counts counts_of_source;

class counted_source {
  public:
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return try_allocate_at_least(bytes, alignment).start;
    }
    // The rounding by the cache is counted, too, because it is used.
    [[nodiscard]] allocation try_allocate_at_least(std::size_t bytes, std::size_t alignment) noexcept {
        source_counts& counts = counts_of_source;
        const std::size_t good = chunk_cache::good_bytes(bytes);
        const std::size_t held = counts.held_bytes.fetch_add(good, std::memory_order_relaxed) + good;
        if (held > counts.limit_bytes) {
            counts.held_bytes.fetch_sub(good, std::memory_order_relaxed);
            return {};
        }
        const allocation memory = chunk_cache().try_allocate_at_least(bytes, alignment);
        if (memory.start == nullptr) {
            counts.held_bytes.fetch_sub(good, std::memory_order_relaxed);
            return memory;
        }
        std::size_t most = counts.most_bytes.load(std::memory_order_relaxed);
        while (held > most && !counts.most_bytes.compare_exchange_weak(most, held, std::memory_order_relaxed)) {
        }
        return memory;
    }
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* memory = try_allocate(bytes, alignment)) return memory;
        out_of_memory(bytes, alignment);
    }
    void deallocate(void* chunk, std::size_t bytes, std::size_t alignment) noexcept {
        counts_of_source.held_bytes.fetch_sub(chunk_cache::good_bytes(bytes), std::memory_order_relaxed);
        chunk_cache().deallocate(chunk, bytes, alignment);
    }
};

}  // namespace millpond::replay
