// SPDX-License-Identifier: BSL-1.0
// spin_lock: a lock of one word for short, rare critical sections below malloc, where no C library lock may be used.
//
// A waiter spins a little and then sleeps for some microseconds at a time (futex, the system call that malloc's own
// locks make). Not recursive. try_lock_patiently is for callers that a signal handler may have brought here while the
// thread itself holds the lock: they give up after two seconds.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace millpond::preload {

class spin_lock {
  public:
    [[nodiscard]] bool try_lock() noexcept { return __atomic_exchange_n(&held_, 1, __ATOMIC_ACQUIRE) == 0; }
    void lock() noexcept {
        while (!try_lock_patiently()) {
        }
    }
    [[nodiscard]] bool try_lock_patiently() noexcept {
        constexpr unsigned spins = 100, sleeps = 20000;
        for (unsigned i = 0; i < spins; ++i) {
            if (try_lock()) return true;
            __builtin_ia32_pause();
        }
        for (unsigned i = 0; i < sleeps; ++i) {
            if (try_lock()) return true;
            const int before = errno;
            const timespec a_while{0, 100'000};
            syscall(SYS_futex, &held_, FUTEX_WAIT_PRIVATE, 1, &a_while, nullptr, 0);
            errno = before;
        }
        return false;
    }
    void unlock() noexcept { __atomic_store_n(&held_, 0, __ATOMIC_RELEASE); }

  private:
    int held_ = 0;
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

// Holds the lock if it could be had.
class patient_guard {
  public:
    explicit patient_guard(spin_lock& lock) noexcept : lock_(lock), held_(lock.try_lock_patiently()) {}
    ~patient_guard() {
        if (held_) lock_.unlock();
    }
    patient_guard(const patient_guard&) = delete;
    patient_guard& operator=(const patient_guard&) = delete;
    explicit operator bool() const noexcept { return held_; }

  private:
    spin_lock& lock_;
    bool held_;
};

}  // namespace millpond::preload
