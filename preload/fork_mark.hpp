// SPDX-License-Identifier: BSL-1.0
// fork_mark: tells a process from the child that was copied from it, without a lock and whatever copied it.
//
//   parent: set() ─▶ is_set() true          child of fork, _Fork or raw clone: is_set() false until set() is called
//
// The mark is a page that the kernel empties in a child (MADV_WIPEONFORK), so a child is known even where no atfork
// handler ran. A handler empties it too, for kernels before 4.14. A child that shares its parent's memory (vfork) shares
// the mark, as it shares the heap. One mark for each preloaded library. is_set: one load. Lock-free, allocates nothing.
#pragma once

namespace millpond::preload {

class fork_mark {
  public:
    // Marks this process. The first call installs the handler; it must not run in two threads at once.
    static void set() noexcept;

    [[nodiscard, gnu::always_inline]] static bool is_set() noexcept {
        return __atomic_load_n(&page_.mark, __ATOMIC_RELAXED) != 0;
    }

  private:
    struct alignas(4096) page {
        int mark;
    };
    static constinit page page_;
};

}  // namespace millpond::preload
