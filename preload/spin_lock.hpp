// SPDX-License-Identifier: BSL-1.0
// spin_lock: a lock of one word for short, rare critical sections below malloc, where no C library lock may be used.
//
// A waiter spins a little and then sleeps until it is woken (futex, the system call that malloc's own locks use). Not
// recursive. try_lock_patiently is for callers that a signal handler may have brought here while the thread itself
// holds the lock: it gives up after two seconds.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/machine.hpp"

namespace millpond::preload {

class spin_lock {
  public:
    [[nodiscard]] bool try_lock() noexcept {
        int seen = free;
        return __atomic_compare_exchange_n(&state_, &seen, int{held}, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    }
    void lock() noexcept {
        while (!try_lock_patiently()) {
        }
    }
    [[nodiscard]] bool try_lock_patiently() noexcept { return try_lock() || wait_for_it(); }
    void unlock() noexcept {
        if (__atomic_exchange_n(&state_, int{free}, __ATOMIC_RELEASE) == contended) [[unlikely]]
            call(FUTEX_WAKE_PRIVATE, 1, nullptr);
    }

  private:
    enum states : int { free, held, contended };

    [[gnu::noinline]] bool wait_for_it() noexcept {
        constexpr unsigned spins = 100, sleeps = 20;
        for (unsigned i = 0; i < spins; ++i) {
            machine::pause();
            if (__atomic_load_n(&state_, __ATOMIC_RELAXED) == free && try_lock()) return true;
        }
        const timespec a_while{0, 100'000'000};
        for (unsigned i = 0; i < sleeps; ++i) {
            if (__atomic_exchange_n(&state_, int{contended}, __ATOMIC_ACQUIRE) == free) return true;
            call(FUTEX_WAIT_PRIVATE, contended, &a_while);
        }
        return false;
    }
    void call(int operation, int value, const timespec* timeout) noexcept {
        const int before = errno;
        syscall(SYS_futex, &state_, operation, value, timeout, nullptr, 0);
        errno = before;
    }

    int state_ = free;
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

// Holds the lock if it could be taken.
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
