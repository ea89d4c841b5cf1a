// SPDX-License-Identifier: BSL-1.0
// thread_magazine: one thread's own part of a pool: for each size class a stack of free blocks.
//
//   class 24:  blocks ─▶│●│●│●│●│ │ │ │ │   count 4, capacity 8      pop and push touch no block and no other thread
//              kept   ─▶ batch ─▶ batch     blocks that overflowed and will be needed again
//   …
//   none:      count 0, capacity 0          behind the last class: always empty and always full, as a class unused yet
//
// Part of synchronized_multipool; nothing else uses it. It lies in the pool's chunks and belongs to the thread whose
// life it names. When that thread has ended, the pool gives the magazine to another thread with all that is in it. Not
// thread-safe, except owner and next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../core/abi.hpp"
#include "block_batch.hpp"
#include "thread_life.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The number of blocks of a size that a thread keeps at hand, and that pass between threads at once.
struct magazine_limits {
    static constexpr std::size_t largest_capacity = 128;
    static constexpr std::size_t capacity_bytes = std::size_t{64} << 10;
    static constexpr std::size_t kept_bytes = std::size_t{1} << 20;  // in all classes together, without the stacks
    static constexpr std::size_t first_run_bytes = 256;

    [[nodiscard]] static constexpr std::uint32_t capacity_of(std::size_t block_bytes) noexcept {
        const std::size_t fitting = capacity_bytes / block_bytes;
        return static_cast<std::uint32_t>(fitting < 2 ? 2 : fitting < largest_capacity ? fitting : largest_capacity);
    }

    [[nodiscard]] static constexpr std::uint32_t batch_of(std::size_t block_bytes) noexcept {
        return capacity_of(block_bytes) / 2;
    }

    [[nodiscard]] static constexpr std::uint16_t first_run_of(std::size_t block_bytes) noexcept {
        const std::size_t fitting = first_run_bytes / block_bytes;
        const std::size_t batch = batch_of(block_bytes);
        return static_cast<std::uint16_t>(fitting < 1 ? 1 : fitting < batch ? fitting : batch);
    }
};

struct magazine_class {
    std::uint32_t count = 0;     // a whole register: half of one is twice as slow from store to load
    std::uint32_t capacity = 0;  // 0: there is no stack yet
    void** blocks = nullptr;
    block_batch kept;
    std::uint32_t kept_count = 0;
    std::uint16_t wanted_count = 0;  // batches that this thread has taken so far, and so may keep
    std::uint16_t run = 0;           // fresh blocks to cut next; doubles up to a batch

    [[nodiscard]] void* pop() noexcept { return blocks[--count]; }
    void push(void* block) noexcept { blocks[count++] = block; }
};

template <unsigned Classes>
struct thread_magazine {
    explicit thread_magazine(thread_life* whose) noexcept : owner(whose) {}

    magazine_class classes[Classes + 1];
    std::size_t kept_bytes = 0;
    std::atomic<thread_life*> owner;
    thread_magazine* next = nullptr;  // the next one of the pool; constant once it is in the list
};

}  // namespace millpond::inline MILLPOND_ABI::detail
