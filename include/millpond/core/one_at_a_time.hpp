// SPDX-License-Identifier: BSL-1.0
// one_at_a_time: in checked mode, ends the program where two threads are inside one object at once; else nothing.
//
//   thread 1   ├── visit ──────────┤
//   thread 2           ├── visit: "millpond: two threads at once: …", and the program ends
//
// Put one into a class that is not thread-safe, and a visit at the head of each call that changes it. It finds calls
// that really overlap, before they corrupt anything; calls of several threads in turns are as legal as ever.
//
// O(1), one atomic exchange; without MILLPOND_CHECKED not an instruction. All translation units must agree.
//
// Example:
//     millpond::one_at_a_time books;
//     const millpond::one_at_a_time::visit here(books, "the books");
#pragma once

#if defined(MILLPOND_CHECKED)
#include <atomic>
#include <cstdio>
#include <cstdlib>
#endif

#include "abi.hpp"

namespace millpond::inline MILLPOND_ABI {

#if defined(MILLPOND_CHECKED)
class one_at_a_time {
  public:
    class [[maybe_unused]] visit {
      public:
        visit(one_at_a_time& object, const char* what) noexcept : busy_(object.busy_) {
            if (!busy_.exchange(true, std::memory_order_acquire)) return;
            std::fprintf(stderr,
                         "millpond: two threads at once: %s at %p is used while another call is inside; give each "
                         "thread its own, or wrap it in synchronized\n",
                         what, static_cast<const void*>(&object));
            std::abort();
        }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        ~visit() { busy_.store(false, std::memory_order_release); }

      private:
        std::atomic<bool>& busy_;
    };

  private:
    std::atomic<bool> busy_ = false;
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

}  // namespace millpond::inline MILLPOND_ABI
