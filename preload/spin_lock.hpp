// SPDX-License-Identifier: BSL-1.0
// spin_lock: a lock of one word for short, rare critical sections below malloc, where no C library lock may be used.
// It yields to the scheduler after some spinning. Not recursive; a signal handler must use try_lock.
#pragma once

#include <sched.h>

namespace millpond::preload {

class spin_lock {
  public:
    [[nodiscard]] bool try_lock() noexcept { return !__atomic_exchange_n(&held_, true, __ATOMIC_ACQUIRE); }
    void lock() noexcept {
        for (unsigned spins = 0; !try_lock(); ++spins) {
            if (spins < 64)
                __builtin_ia32_pause();
            else
                sched_yield();
        }
    }
    void unlock() noexcept { __atomic_store_n(&held_, false, __ATOMIC_RELEASE); }

  private:
    bool held_ = false;
};

class spin_guard {
  public:
    explicit spin_guard(spin_lock& lock) noexcept : lock_(lock) { lock_.lock(); }
    ~spin_guard() { lock_.unlock(); }
    spin_guard(const spin_guard&) = delete;
    spin_guard& operator=(const spin_guard&) = delete;

  private:
    spin_lock& lock_;
};

}  // namespace millpond::preload
