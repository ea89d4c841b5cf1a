// SPDX-License-Identifier: BSL-1.0
// patient_lock: a lock for which threads wait as long as its holder may still exist.
//
//   lock(patience) ──free, or freed by a holder that goes on──▶ true, unlock() later
//                  └─the same holder for `patience` naps of 1 ms──▶ false: in this process there is no such holder
//
// fork() copies a lock but not the thread that held it, so a child could wait forever. This lock counts how often it
// was taken. A waiter that sees the same count through all its naps gives up, and from then on no thread waits for that
// holder. If the holder exists after all and goes on, the lock works as before.
// Use it where there is another way without the lock, even a bad one. brief_lock gives up after a microsecond instead,
// for work that may be skipped.
//
// O(1) except for waiting; constant-initialised. Thread-safe.
//
// Example:
//     millpond::detail::patient_lock lock;
//     assert(lock.lock(10) && !lock.try_lock() && !lock.lock(1));  // a holder that does not go on
//     lock.unlock();
//     assert(lock.try_lock());
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class patient_lock {
  public:
    constexpr patient_lock() noexcept = default;
    patient_lock(const patient_lock&) = delete;
    patient_lock& operator=(const patient_lock&) = delete;

    // Returns: true if the lock is now held. Tries for about a microsecond.
    [[nodiscard]] bool try_lock() noexcept {
        for (int attempt = 0; attempt < attempts; ++attempt) {
            std::uint64_t taken = taken_.load(std::memory_order_relaxed);
            if (taken % 2 == 0) {
                if (taken_.compare_exchange_weak(taken, taken + 1, std::memory_order_acquire,
                                                 std::memory_order_relaxed))
                    return true;
            } else if (taken == stuck_.load(std::memory_order_relaxed)) {
                return false;
            }
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
        return false;
    }

    // Returns: true if the lock is now held; false if one holder has held it for `patience` naps of a millisecond.
    [[nodiscard]] bool lock(unsigned patience) noexcept { return try_lock() || wait(patience); }

    void unlock() noexcept { taken_.fetch_add(1, std::memory_order_release); }

    // Effects: frees the lock. For a thread that knows that no other one uses what the lock protects.
    void break_open() noexcept { taken_.fetch_add(taken_.load(std::memory_order_relaxed) % 2); }

  private:
    // Much longer than the few instructions that a holder needs, and much shorter than a time slice.
    static constexpr int attempts = 128;
    static constexpr unsigned yields = 32;

    [[gnu::noinline, gnu::cold]] bool wait(unsigned patience) noexcept {
        std::uint64_t seen = taken_.load(std::memory_order_relaxed);
        unsigned looks = 0;
        while (looks < yields + patience) {
            if (seen % 2 != 0 && seen == stuck_.load(std::memory_order_relaxed)) return false;
            if (looks++ < yields) {
                std::this_thread::yield();
            } else {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            if (try_lock()) return true;
            const std::uint64_t now = taken_.load(std::memory_order_relaxed);
            if (now == seen && now % 2 != 0) continue;
            seen = now;
            looks = 0;
        }
        stuck_.store(seen, std::memory_order_relaxed);
        return false;
    }

    std::atomic<std::uint64_t> taken_{0};  // times taken and given back: odd while the lock is held
    std::atomic<std::uint64_t> stuck_{0};  // the value of taken_ when a waiter gave up
};

}  // namespace millpond::inline MILLPOND_ABI::detail
