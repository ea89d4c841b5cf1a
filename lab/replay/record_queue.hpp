// SPDX-License-Identifier: BSL-1.0
// record_queue: a queue of records from the dispatcher of a dependency order to one player.
//
//   dispatcher ─put─▶ │ written, not seen │ published │ taken … │ ─wait, take─▶ player        a ring of `capacity`
//
// A waiting thread sleeps instead of spinning, because there may be more threads than cores. One thread at each end.
// O(1) a record; no malloc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lab/replay/script.hpp"

namespace millpond::replay {

struct turned_record {
    record what;
    std::uint32_t turn;
    std::uint32_t is_last;  // the queue ends here
};

class record_queue {
  public:
    static constexpr std::uint32_t capacity = 4096;  // a power of two

    // For the dispatcher. False if there is no room now; the record becomes visible after publish().
    bool put(const turned_record& r) noexcept {
        if (written_ - taken_.load(std::memory_order_acquire) == capacity) return false;
        ring_[written_++ % capacity] = r;
        return true;
    }
    void publish() noexcept {
        if (published_.load(std::memory_order_relaxed) == written_) return;
        published_.store(written_, std::memory_order_release);
        published_.notify_one();
    }
    void wait_for_room() const noexcept {
        const std::uint32_t full = written_ - capacity;
        taken_.wait(full, std::memory_order_acquire);
    }

    // For the player: waits for at least one record and returns all that are there. take() releases them.
    std::span<const turned_record> wait() const noexcept {
        const std::uint32_t from = taken_.load(std::memory_order_relaxed);
        published_.wait(from, std::memory_order_acquire);
        const std::uint32_t there = published_.load(std::memory_order_acquire) - from;
        const std::uint32_t to_end = capacity - from % capacity;
        return {ring_ + from % capacity, there < to_end ? there : to_end};
    }
    void take(std::size_t count) noexcept {
        taken_.fetch_add(static_cast<std::uint32_t>(count), std::memory_order_release);
        taken_.notify_one();
    }

  private:
    alignas(64) std::atomic<std::uint32_t> published_{0};
    std::uint32_t written_ = 0;
    alignas(64) std::atomic<std::uint32_t> taken_{0};
    alignas(64) turned_record ring_[capacity];
};

}  // namespace millpond::replay
