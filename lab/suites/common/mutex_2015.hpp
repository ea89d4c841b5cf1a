// SPDX-License-Identifier: BSL-1.0
// mutex_2015: a mutex that needs one atomic operation to lock and one to unlock, in every process.
//
//   open ──lock──▶ held ──another thread's lock──▶ awaited        unlock: open; wakes a thread if awaited
//
// glibc 2.34 and later need no atomic operation for a std::mutex in a process of one thread. Benchmarks I and II of
// P0089R0 are such processes, but its authors' pools paid for the atomic operations of their lock. Has the functions
// that synchronized needs of a mutex. Not recursive. Elsewhere, use std::mutex.
#pragma once

#include <atomic>

namespace millpond::suites {

class mutex_2015 {
  public:
    constexpr mutex_2015() noexcept = default;
    mutex_2015(const mutex_2015&) = delete;
    mutex_2015& operator=(const mutex_2015&) = delete;

    void lock() noexcept {
        state seen = state::open;
        if (state_.compare_exchange_strong(seen, state::held, std::memory_order_acquire, std::memory_order_relaxed))
            return;
        while (state_.exchange(state::awaited, std::memory_order_acquire) != state::open)
            state_.wait(state::awaited, std::memory_order_relaxed);
    }

    void unlock() noexcept {
        if (state_.exchange(state::open, std::memory_order_release) == state::awaited) state_.notify_one();
    }

  private:
    enum class state : int { open, held, awaited };

    std::atomic<state> state_{state::open};
};

}  // namespace millpond::suites
