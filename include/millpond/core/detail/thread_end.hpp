// SPDX-License-Identifier: BSL-1.0
// at_thread_end: calls a function object at the end of each thread that has asked for it.
//
//   arm() ──▶ thread ──ends──▶ Action()()
//
// An object with a destructor that is local to the thread does this, except in programs of mingw-w64's gcc: there all
// thread-local variables, their memory included, have ended before the destructors run. A key of pthread that is older
// than the key of these variables ends before them. It is made before the constructors of static objects run.
//
// arm: O(1), and an allocation of the C++ library for the first call of a thread. Thread-safe.
//
// Example:
//     static std::atomic<int> ended{0};
//     struct count {
//         void operator()() const noexcept { ++ended; }
//     };
//     std::thread([] { millpond::detail::at_thread_end<count>::arm(); }).join();
//     assert(ended == 1);
#pragma once

#include "../abi.hpp"

#if defined(__MINGW32__) && !defined(__clang__) && __has_include(<pthread.h>)
#define MILLPOND_THREAD_LOCALS_END_EARLY
#include <pthread.h>
#endif

namespace millpond::inline MILLPOND_ABI::detail {

#if defined(MILLPOND_THREAD_LOCALS_END_EARLY)

// What a thread calls at its end, the last armed first.
struct thread_end_call {
    void (*action)() noexcept;
    thread_end_call* next;
};

class thread_end_key {
  public:
    static void add(thread_end_call& call) noexcept {
        call.next = static_cast<thread_end_call*>(pthread_getspecific(key_));
        pthread_setspecific(key_, &call);
    }

    static void make() noexcept {
        if (!exists_) exists_ = pthread_key_create(&key_, run) == 0;
    }

  private:
    static void run(void* first) {
        for (auto* call = static_cast<thread_end_call*>(first); call != nullptr; call = call->next) call->action();
    }

    static inline constinit bool exists_ = false;
    static inline constinit pthread_key_t key_{};
};

// Each source has a copy, of which the first makes the key.
[[gnu::constructor(101), gnu::used]] static void make_thread_end_key() noexcept { thread_end_key::make(); }

template <class Action>
class at_thread_end {
  public:
    static void arm() noexcept {
        static thread_local constinit thread_end_call own{};
        if (own.action != nullptr) return;
        own.action = []() noexcept { Action()(); };
        thread_end_key::add(own);
    }
};

#else

template <class Action>
class at_thread_end {
  public:
    // Effects: Action()() is called when the calling thread ends, once.
    static void arm() noexcept {
        static thread_local const caller calls_it;
        static_cast<void>(calls_it);
    }

  private:
    struct caller {
        ~caller() { Action()(); }
    };
};

#endif

}  // namespace millpond::inline MILLPOND_ABI::detail
