// SPDX-License-Identifier: BSL-1.0
// checked_malloc: a malloc that guards every block and reports misuse: libmillpond-multipool.so with MILLPOND_CHECK=1
// in the environment.
//
//   malloc ─▶ │guard│ block │guard│ from the C library's malloc; its record lies apart (wrap/detail/block_ledger.hpp)
//   free   ─▶ known? live? guards whole? ─▶ overwritten, kept in a quarantine of 16 MiB, checked when it leaves
//   exit   ─▶ all guards and the quarantine are checked again
//
// Use it to find out why a program crashes or computes wrong results, not to measure it: a block costs some 300 bytes
// and a few hundred nanoseconds more, and all threads share one lock. It finds double frees, overruns and underruns,
// writes after a free, and frees of addresses that are not blocks. A report is one line on standard error
// (wrap/misuse.hpp: kind, size, address, the sites of allocation, free and detection); then the program aborts. It
// finds neither bad reads nor leaks.
//
// A signal handler that interrupts one of these functions gets malloc without checks: blocks that it frees stay
// allocated, and it must free its own allocations itself. The same holds for a child that was forked while another
// thread was inside. A child of _Fork or of a raw clone may then wait permanently; POSIX does not allow it to call
// malloc. The library must be preloaded: if a running program opened it, older blocks would look foreign.
//
// A freed block of more than 256 KiB is overwritten only at its ends, 32 KiB each; later writes between them are not
// found. From 1 MiB on, that middle part is returned to the system at the free, and realloc moves it by pages. So the
// checks do not touch memory that a program reserves and does not touch.
//
// Complexity: O(bytes of the block), at most 256 KiB of them. Thread-safe.
#pragma once

#include <cstddef>

#include "millpond/wrap/call_site.hpp"
#include "preload/holder_lock.hpp"

namespace millpond::mallocs {

class checked_malloc {
  public:
    // Decided at the first call, which comes before any other library's start-up code.
    [[nodiscard, gnu::always_inline]] static bool is_on() noexcept {
        const int mode = __atomic_load_n(&mode_, __ATOMIC_RELAXED);
        return mode == unknown ? decide() : mode == on;
    }

    // Call before any other thread runs, for a program whose heap cannot be replaced: earlier allocations are leaked.
    static void switch_off() noexcept { __atomic_store_n(&mode_, int{off}, __ATOMIC_RELAXED); }

    // `alignment`: 0 for malloc's; rounded up to a power of two, also for aligned_alloc, like the C library's memalign.
    // Returns null with errno set.
    [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment, call_site site) noexcept;
    [[nodiscard]] static void* allocate_zeroed(std::size_t bytes, call_site site) noexcept;
    // `old`: not null. Moves every block, so that uses of the old place are found.
    [[nodiscard]] static void* reallocate(void* old, std::size_t bytes, call_site site) noexcept;
    static void deallocate(void* p, call_site site) noexcept;
    // Returns the bytes that were requested; 0 for an address that is not a block.
    [[nodiscard]] static std::size_t usable_size(const void* p) noexcept;

    // For a child of which only the thread `survivor` is known (0: none).
    static void retire_unless_held_by(preload::holder_lock::thread_id survivor) noexcept;
    // Effects: reports the first block whose guards are broken, or that was written after its free.
    static void verify() noexcept;

  private:
    enum : int { unknown, off, on };
    [[gnu::noinline, gnu::cold]] static bool decide() noexcept;

    static inline int mode_ = unknown;
};

}  // namespace millpond::mallocs
