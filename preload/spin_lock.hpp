// SPDX-License-Identifier: BSL-1.0
// spin_lock: a lock of one word for short, rare critical sections below malloc, where no C library lock may be used.
// It yields to the scheduler after some spinning. Not recursive; a signal handler must use try_lock. The word names the
// holder, so that the child of a fork can tell its own interrupted call from a thread that it does not have. x86-64 only.
#pragma once

#include <sched.h>

#include <cstdint>

namespace millpond::preload {

class spin_lock {
  public:
    [[nodiscard]] bool try_lock() noexcept {
        std::uintptr_t seen = 0;
        return __atomic_load_n(&holder_, __ATOMIC_RELAXED) == 0 &&
               __atomic_compare_exchange_n(&holder_, &seen, this_thread(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    }
    void lock() noexcept {
        for (unsigned spins = 0; !try_lock(); ++spins) {
            if (spins < 64)
                __builtin_ia32_pause();
            else
                sched_yield();
        }
    }
    void unlock() noexcept { __atomic_store_n(&holder_, 0, __ATOMIC_RELEASE); }

    // In a child with one thread: frees the lock if a thread of its parent holds it. True: what the lock guards is as that
    // thread left it.
    bool break_unless_own() noexcept {
        if (holder_ == 0 || holder_ == this_thread()) return false;
        unlock();
        return true;
    }

  private:
    // The thread pointer, which glibc keeps at its own address.
    static std::uintptr_t this_thread() noexcept {
        std::uintptr_t self;
        asm("mov %%fs:0, %0" : "=r"(self));
        return self;
    }

    std::uintptr_t holder_ = 0;
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
