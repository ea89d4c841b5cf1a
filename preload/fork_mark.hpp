// SPDX-License-Identifier: BSL-1.0
// fork_mark: tells a process from a child that was copied from it, without a lock and for every way of copying.
//
//   parent: set() ─▶ is_set() true          child of fork, _Fork or raw clone: is_set() false until set() is called
//
// The mark is a page that the kernel empties in a child (MADV_WIPEONFORK), so a child is recognised even if no atfork
// handler ran. A handler empties it too, for kernels before 4.14. A child that shares its parent's memory (vfork)
// shares the mark, as it shares the heap. Each preloaded library has one mark. is_set: one load. Lock-free, allocates
// nothing.
#pragma once

#include "preload/machine.hpp"

namespace millpond::preload {

class fork_mark {
  public:
    [[nodiscard, gnu::always_inline]] static bool is_set() noexcept { return number() >= first_number; }

    // Returns a number that differs in each process copied from another, if the mark is set; otherwise a low one. It
    // shows whether a thread's record comes from the process from which it was copied.
    [[nodiscard, gnu::always_inline]] static int number() noexcept {
        return __atomic_load_n(&page_.mark, __ATOMIC_ACQUIRE);
    }

    // Returns true for the one caller in this process that must prepare it and then call set(); others wait for
    // is_set().
    [[nodiscard]] static bool claim() noexcept;
    // Marks this process. The first call installs the handler; it must not run in two threads at once.
    static void set() noexcept;

  private:
    enum marks : int { unmarked, claimed, first_number };
    struct alignas(machine::page_bytes_max) page {
        int mark;
    };
    static void prepare() noexcept;
    static constinit page page_;
    static constinit int last_number_;  // a child inherits its parent's
};

}  // namespace millpond::preload
