// SPDX-License-Identifier: BSL-1.0
// at_thread_end: calls a function object at the end of each thread that has asked for it.
//
//   arm() ──▶ thread ──ends──▶ Action()()      the last armed first
//
// An object with a destructor that is local to the thread does this, except in programs of mingw-w64's gcc: there all
// thread-local variables, their memory included, have ended before the destructors run. There a key of pthread, which
// is older than the key of these variables and so ends first, makes the calls: link millpond::millpond.
//
// arm: O(1), and an allocation of the C++ library for the first call of a thread. Thread-safe.
//
// Example:
//     static std::atomic<int> ended{0};
//     struct count {
//         void operator()() const noexcept { ++ended; }
//     };
//     std::thread([] { millpond::os::at_thread_end<count>::arm(); }).join();
//     assert(ended == 1);
#pragma once

#if defined(__MINGW32__) && !defined(__clang__) && __has_include(<pthread.h>)
#define MILLPOND_THREAD_LOCALS_END_EARLY
#endif

namespace millpond::os {

// A call at the end of a thread. Ownership: a variable of the thread.
struct thread_end_call {
    void (*action)() noexcept;
    thread_end_call* next;
};

#if defined(MILLPOND_THREAD_LOCALS_END_EARLY)

// Effects: the calling thread makes the call when it ends.
void call_at_thread_end(thread_end_call& call) noexcept;

template <class Action>
class at_thread_end {
  public:
    static void arm() noexcept {
        static thread_local constinit thread_end_call own{};
        if (own.action != nullptr) return;
        own.action = []() noexcept { Action()(); };
        call_at_thread_end(own);
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

}  // namespace millpond::os
