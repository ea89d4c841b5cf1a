// SPDX-License-Identifier: BSL-1.0
// checked_malloc: malloc with every block guarded and every misuse reported: libmillpond-multipool.so when the
// environment says MILLPOND_CHECK=1.
//
//   malloc ─▶ │guard│ block │guard│ from the C library's malloc; its record lies apart (wrap/detail/block_ledger.hpp)
//   free   ─▶ known? live? guards whole? ─▶ overwritten, kept in a quarantine of 16 MiB, looked at when it leaves that
//   exit   ─▶ all guards and the quarantine are looked at once more
//
// Use it to find out why a program crashes or computes nonsense, not to measure it: a block costs some 300 bytes and
// a few hundred nanoseconds more, and all threads share one lock. Found: double free, overrun and underrun, writes
// after a free, frees of what is no block. A report is one line on standard error (wrap/misuse.hpp: kind, size,
// address, the sites of allocation, free and detection); then the program aborts. Reads are not found, nor leaks.
//
// A signal handler that interrupts one of these functions has malloc without checks: what it frees stays allocated, and
// what it allocates it must free itself. So has a child that was forked while another thread was inside; one of _Fork
// or of a raw clone may then wait permanently, as POSIX allows it no malloc. The library must be preloaded: one that a
// running program opens would take blocks of before for foreign ones.
//
// A block of more than 256 KiB is overwritten at its ends, 32 KiB each, and a write between them is not found after the
// free. From 1 MiB on that part goes back to the system at the free, and is moved by its pages: what a program reserves
// and does not touch, checks do not touch either.
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

    // Before any other thread runs, for a program whose heap cannot be replaced: what was allocated before is leaked.
    static void switch_off() noexcept { __atomic_store_n(&mode_, int{off}, __ATOMIC_RELAXED); }

    // `alignment`: 0 for what malloc gives; rounded up to a power of two, for aligned_alloc, too, as without checks the
    // C library's memalign does. Null with errno set.
    [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment, call_site site) noexcept;
    [[nodiscard]] static void* allocate_zeroed(std::size_t bytes, call_site site) noexcept;
    // `old`: not null. Moves every block, so that uses of the old place are found.
    [[nodiscard]] static void* reallocate(void* old, std::size_t bytes, call_site site) noexcept;
    static void deallocate(void* p, call_site site) noexcept;
    // The bytes that were asked for; 0 of what is no block.
    [[nodiscard]] static std::size_t usable_size(const void* p) noexcept;

    // In a child of which only the thread `survivor` is known (0: none).
    static void retire_unless_held_by(preload::holder_lock::thread_id survivor) noexcept;
    // Effects: reports the first block whose guards are broken, or that was written after its free.
    static void verify() noexcept;

  private:
    enum : int { unknown, off, on };
    [[gnu::noinline, gnu::cold]] static bool decide() noexcept;

    static inline int mode_ = unknown;
};

}  // namespace millpond::mallocs
