// SPDX-License-Identifier: BSL-1.0
// one_at_a_time: in checked mode, ends the program where two threads are inside one object at once; else empty.
//
//   thread 1   ├── visit ──────────┤
//   thread 2           ├── visit: "millpond: two threads at once: …", and the program ends
//
// Put one into a class that is not thread-safe, and a visit at the head of each call that changes it. It reports calls
// that really overlap before they corrupt anything. Calls of several threads in turn stay legal. So does a call inside
// another one of the same thread, as of a source or a callback that uses its own pool.
// thread_watch, which it is built from, serves classes that report in their own way; it watches in every mode.
//
// O(1), one atomic exchange; no instruction without MILLPOND_CHECKED. All translation units must agree.
//
// Example:
//     millpond::detail::one_at_a_time books;
//     const millpond::detail::one_at_a_time::visit here(books, "the books");
#pragma once

#include <atomic>

#if defined(MILLPOND_CHECKED)
#include <cstdio>
#include <cstdlib>
#endif

#include "../abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Tells which thread is inside an object.
class thread_watch {
  public:
    class visit {
      public:
        explicit visit(thread_watch& object) noexcept : inside_(object.inside_) {
            const void* found = nullptr;
            is_first_ = inside_.compare_exchange_strong(found, &this_thread_, std::memory_order_acquire);
            is_alone_ = is_first_ || found == &this_thread_;
        }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        ~visit() {
            if (is_first_) inside_.store(nullptr, std::memory_order_release);
        }

        // Returns: true if no other thread was inside when this visit began.
        [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }

      private:
        // The variable's address identifies the thread.
        static inline thread_local constinit char this_thread_ = 0;

        std::atomic<const void*>& inside_;
        bool is_first_;
        bool is_alone_;
    };

  private:
    std::atomic<const void*> inside_ = nullptr;
};

#if defined(MILLPOND_CHECKED)
class one_at_a_time {
  public:
    class [[maybe_unused]] visit {
      public:
        visit(one_at_a_time& object, const char* what) noexcept : here_(object.watch_) {
            if (here_.is_alone()) return;
            std::fprintf(stderr,
                         "millpond: two threads at once: %s at %p is used while another thread is inside; give each "
                         "thread its own, or wrap it in synchronized\n",
                         what, static_cast<const void*>(&object));
            std::abort();
        }

      private:
        thread_watch::visit here_;
    };

  private:
    thread_watch watch_;
};
#else
class one_at_a_time {
  public:
    class [[maybe_unused]] visit {
      public:
        constexpr visit(one_at_a_time&, const char*) noexcept {}
    };
};
#endif

}  // namespace millpond::inline MILLPOND_ABI::detail
