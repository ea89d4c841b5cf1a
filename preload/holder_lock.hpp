// SPDX-License-Identifier: BSL-1.0
// holder_lock: a lock that knows its holder, for short but contended critical sections below malloc. It spins a little
// and then sleeps, so that a thread preempted inside does not cost the others their time slices.
//
//   lock(self) ──▶ true: unlock() later
//              └─▶ false, at once: the holder is the calling thread itself, which a signal handler interrupted inside,
//                  or a thread that only the parent of this process has. The caller then goes another way.
//
// So neither a fork nor a signal handler needs the lock to be free. `self` is any non-zero multiple of 8 that no other
// living thread has. One word. Uncontended: one atomic exchange to lock, one to unlock. enter and leave are plain loads
// and stores, for data of one thread or a process with one thread.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "preload/machine.hpp"

namespace millpond::preload {

class holder_lock {
  public:
    using thread_id = std::uintptr_t;

    // Set once by the library, and called before each wait. In a child that does not know yet that it is one, it
    // retires every lock held by a thread that the child does not have.
    using preparation = void (*)() noexcept;
    static constinit inline preparation before_waiting = nullptr;

    [[nodiscard]] bool lock(thread_id self) noexcept {
        thread_id seen = free;
        if (__atomic_compare_exchange_n(&word_, &seen, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) [[likely]]
            return true;
        return lock_contended(self, [] {
            if (before_waiting != nullptr)
                before_waiting();  // otherwise a child would wait for a thread that it does not have
            return true;
        });
    }
    // The same, but waits only while goes_on() is true, and does not call the preparation.
    template <class GoesOn>
    [[nodiscard]] bool lock_while(thread_id self, const GoesOn& goes_on) noexcept {
        thread_id seen = free;
        if (__atomic_compare_exchange_n(&word_, &seen, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) [[likely]]
            return true;
        return lock_contended(self, goes_on);
    }
    void unlock() noexcept {
        if ((__atomic_exchange_n(&word_, free, __ATOMIC_RELEASE) & contended) != 0) [[unlikely]]
            wake();
    }

    // Takes the lock for a process of one thread: only its own signal handlers can come between. If one of those starts
    // a thread, that waits for at most a tenth of a second.
    [[nodiscard]] bool enter(thread_id self) noexcept {
        if (__atomic_load_n(&word_, __ATOMIC_RELAXED) != free) [[unlikely]]
            return false;
        __atomic_store_n(&word_, self, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        return true;
    }
    void leave() noexcept {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        __atomic_store_n(&word_, free, __ATOMIC_RELAXED);
    }

    // Returns whether no thread of this process will ever have it.
    [[nodiscard]] bool is_retired() const noexcept { return __atomic_load_n(&word_, __ATOMIC_RELAXED) == retired; }

    // Call it in a child: locks held by another thread than `survivor`, the thread that called fork, stay held.
    void retire_unless_held_by(thread_id survivor) noexcept {
        const thread_id holder = word_ & ~contended;
        if (holder != free && holder != survivor) __atomic_store_n(&word_, retired, __ATOMIC_RELAXED);
    }

  private:
    static constexpr thread_id free = 0, contended = 1, retired = 2;

    template <class GoesOn>
    [[gnu::noinline]] bool lock_contended(thread_id self, const GoesOn& goes_on) noexcept {
        const int before = errno;
        bool acquired = false;
        for (unsigned attempt = 0;; ++attempt) {
            if (!goes_on()) break;
            thread_id seen = __atomic_load_n(&word_, __ATOMIC_RELAXED);
            if (seen == retired || (seen & ~contended) == self) break;
            const bool sleeps = attempt >= 100;
            // A thread that has slept does not know whether others sleep.
            const thread_id wanted = seen == free ? (sleeps ? self | contended : self) : seen | contended;
            if (seen != free && !sleeps) {
                machine::pause();
                continue;
            }
            if (wanted != seen &&
                !__atomic_compare_exchange_n(&word_, &seen, wanted, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                continue;
            if (seen == free) {
                acquired = true;
                break;
            }
            sleep_while(static_cast<std::uint32_t>(wanted));
        }
        errno = before;
        return acquired;
    }
    // It sleeps with a limit of time: leave wakes no thread, and a child that a signal handler makes meanwhile sleeps
    // on.
    void sleep_while(std::uint32_t low_half) noexcept {
        const timespec limit{0, 100'000'000};
        syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, low_half, &limit, nullptr, 0);
    }
    [[gnu::noinline]] void wake() noexcept {
        const int before = errno;
        syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        errno = before;
    }

    thread_id word_ = free;
};

}  // namespace millpond::preload
