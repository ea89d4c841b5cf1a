// SPDX-License-Identifier: BSL-1.0
// brief_lock: a lock that a thread tries to take for a bounded time and never waits for.
//
//   try_lock() ──free within about 1 µs──▶ true, unlock() later
//              └─else────────────────────▶ false: the caller takes the way that needs no lock
//
// Use it where there is always another way, as in a cache. No thread gets stuck behind a holder that lost its
// processor, or that does not exist because fork() copied the lock and not the thread. Where the work must be done
// under the lock, use std::mutex. O(1), no system calls, constant-initialised.
//
// Example:
//     millpond::detail::brief_lock lock;
//     if (lock.try_lock()) lock.unlock();
#pragma once

#include <atomic>

#include "../abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class brief_lock {
  public:
    constexpr brief_lock() noexcept = default;
    brief_lock(const brief_lock&) = delete;
    brief_lock& operator=(const brief_lock&) = delete;

    // Returns: true if the lock is now held. Complexity: at most `attempts` looks at one word.
    [[nodiscard]] bool try_lock() noexcept {
        for (int attempt = 0; attempt < attempts; ++attempt) {
            if (!held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire)) return true;
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
        return false;
    }

    void unlock() noexcept { held_.store(false, std::memory_order_release); }

  private:
    // Much longer than the few instructions that a holder needs, and much shorter than a time slice.
    static constexpr int attempts = 128;

    std::atomic<bool> held_{false};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
