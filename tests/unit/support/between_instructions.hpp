// SPDX-License-Identifier: BSL-1.0
// between_instructions: lets another thread act between two instructions of an operation, chosen by their number.
//
//   this thread    │ 0 │ 1 │ … │ at │                  │ the rest, at full speed │
//   the other one                   │ acts, from first │
//                                   │ to last          │
//
// Freely running threads would meet an instruction only by chance; here every instruction is tested in each run. The
// processor traps behind each instruction (x86-64 and Linux); elsewhere, and under sanitizers, which hold signals back,
// can_step is false, and tests skip. The other thread must not wait for this one: it calls no malloc, which this thread
// may be inside of, and takes no lock but those that give up. A step costs about 15 µs: keep operations short.
#pragma once

#include <cstddef>
#include <millpond/core/detail/sanitizer.hpp>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MILLPOND_TEST_HOLDS_SIGNALS_BACK
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MILLPOND_TEST_HOLDS_SIGNALS_BACK
#endif

#if defined(__x86_64__) && defined(__linux__) && !defined(MILLPOND_TEST_HOLDS_SIGNALS_BACK)
#include <sched.h>
#include <semaphore.h>
#include <ucontext.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>
#define MILLPOND_TEST_CAN_STEP
#endif

namespace millpond::test {

#if defined(MILLPOND_TEST_CAN_STEP)
inline constexpr bool can_step = !detail::address_sanitizer;

class between_instructions {
  public:
    between_instructions() {
        sem_init(&go_, 0, 0);
        other_ = std::thread([this] { obey(); });
        struct sigaction action{};
        action.sa_sigaction = &trapped;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGTRAP, &action, &before_);
    }
    between_instructions(const between_instructions&) = delete;
    between_instructions& operator=(const between_instructions&) = delete;
    ~between_instructions() {
        sigaction(SIGTRAP, &before_, nullptr);
        call_ = nullptr;
        sem_post(&go_);
        other_.join();
        sem_destroy(&go_);
    }

    // Lets the other thread act now; returns when it is done.
    template <class Act>
    void act_now(Act act) noexcept {
        object_ = &act;
        call_ = [](void* object) { (*static_cast<Act*>(object))(); };
        wait_for_the_other();
    }

    // Runs `operation`, and `act` in the other thread after the instruction number `at`.
    // Returns false if the operation has fewer instructions.
    template <class Operation, class Act>
    [[nodiscard]] bool run(std::size_t at, Operation operation, Act act) {
        object_ = &act;
        call_ = [](void* object) { (*static_cast<Act*>(object))(); };
        at_ = at;
        passed_ = 0;
        current = this;
        __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | trap_flag);
        operation();
        __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~trap_flag);
        current = nullptr;
        return passed_ > at;
    }

  private:
    static constexpr unsigned long long trap_flag = 0x100;

    static void trapped(int, siginfo_t*, void* machine) {
        between_instructions& mine = *current.load();
        if (mine.passed_.fetch_add(1, std::memory_order_relaxed) != mine.at_) return;
        const int error = errno;
        mine.wait_for_the_other();
        errno = error;
        static_cast<ucontext_t*>(machine)->uc_mcontext.gregs[REG_EFL] &= ~static_cast<greg_t>(trap_flag);
    }

    void wait_for_the_other() noexcept {
        is_done_.store(false);
        sem_post(&go_);
        while (!is_done_.load()) sched_yield();
    }

    void obey() noexcept {
        for (;;) {
            while (sem_wait(&go_) != 0) {
            }
            if (call_ == nullptr) return;
            call_(object_);
            is_done_.store(true);
        }
    }

    static inline std::atomic<between_instructions*> current = nullptr;

    std::thread other_;
    sem_t go_;
    struct sigaction before_{};
    void (*call_)(void*) = nullptr;
    void* object_ = nullptr;
    std::atomic<bool> is_done_{false};
    std::size_t at_ = 0;
    std::atomic<std::size_t> passed_{0};
};

#else
inline constexpr bool can_step = false;

class between_instructions {
  public:
    template <class Act>
    void act_now(Act) noexcept {}
    template <class Operation, class Act>
    [[nodiscard]] bool run(std::size_t, Operation, Act) {
        return false;
    }
};
#endif

}  // namespace millpond::test
