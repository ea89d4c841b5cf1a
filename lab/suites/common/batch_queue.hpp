// SPDX-License-Identifier: BSL-1.0
// batch_queue: passes batches of blocks from one thread to one other thread, a few batches at a time.
//
//   producer ─▶ │batch│batch│     │     │ ─▶ consumer       full: the producer waits; empty: the consumer does
//
// push, pop: O(batch); waiting spins a little, then yields. For one producer and one consumer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace millpond::suites {

class batch_queue {
  public:
    static constexpr std::size_t batch_blocks = 64;
    using batch = std::array<void*, batch_blocks>;

    void push(const batch& blocks) noexcept {
        const std::uint64_t at = pushed_.load(std::memory_order_relaxed);
        wait([&] { return at - popped_.load(std::memory_order_acquire) < slots; });
        slots_[at % slots] = blocks;
        pushed_.store(at + 1, std::memory_order_release);
    }
    void pop(batch& blocks) noexcept {
        const std::uint64_t at = popped_.load(std::memory_order_relaxed);
        wait([&] { return pushed_.load(std::memory_order_acquire) > at; });
        blocks = slots_[at % slots];
        popped_.store(at + 1, std::memory_order_release);
    }

  private:
    static constexpr std::uint64_t slots = 16;

    template <class Ready>
    static void wait(Ready ready) noexcept {
        for (unsigned spins = 0; !ready(); ++spins) {
            if (spins > 256) std::this_thread::yield();
        }
    }

    alignas(64) std::atomic<std::uint64_t> pushed_{0};
    alignas(64) std::atomic<std::uint64_t> popped_{0};
    alignas(64) std::array<batch, slots> slots_{};
};

}  // namespace millpond::suites
