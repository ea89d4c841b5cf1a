// SPDX-License-Identifier: BSL-1.0
// futex_lock: spins a little, then sleeps. For critical sections below malloc that are short but contended, where a
// thread that was preempted inside must not cost the others their time slices. One word; not recursive. Uncontended:
// one atomic exchange to lock, one to unlock.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace millpond::trial {

class futex_lock {
  public:
    void lock() noexcept {
        std::uint32_t seen = free;
        if (__atomic_compare_exchange_n(&state_, &seen, held, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) [[likely]]
            return;
        lock_contended();
    }
    void unlock() noexcept {
        if (__atomic_exchange_n(&state_, free, __ATOMIC_RELEASE) == contended) [[unlikely]]
            wake();
    }
    // For the child of a fork, where the holder may not exist.
    void reset() noexcept { __atomic_store_n(&state_, free, __ATOMIC_RELAXED); }

  private:
    enum : std::uint32_t { free, held, contended };

    [[gnu::noinline]] void lock_contended() noexcept {
        for (int spins = 0; spins < 100; ++spins) {
            __builtin_ia32_pause();
            std::uint32_t seen = free;
            if (__atomic_load_n(&state_, __ATOMIC_RELAXED) == free &&
                __atomic_compare_exchange_n(&state_, &seen, held, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return;
        }
        const int before = errno;
        while (__atomic_exchange_n(&state_, contended, __ATOMIC_ACQUIRE) != free)
            syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, contended, nullptr, nullptr, 0);
        errno = before;
    }
    [[gnu::noinline]] void wake() noexcept {
        const int before = errno;
        syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        errno = before;
    }

    std::uint32_t state_ = free;
};

}  // namespace millpond::trial
