// SPDX-License-Identifier: BSL-1.0
// chosen_fault: the call that the environment selects to fail (see fail_nth.c), and the kernel's own calls.
#pragma once

#include <errno.h>

enum kind {
    k_open,
    k_write,
    k_mmap,
    k_madvise,
    k_ftruncate,
    k_fallocate,
    k_rename,
    k_fork,
    k_mkdir,
    k_unlink,
    k_link,
    k_sync,
    kinds
};
enum { short_write = -1 };

// Returns 0 if the call may continue; otherwise the errno with which it fails, or short_write. `caller` is the return
// address of the call. Safe in malloc and in signal handlers; keeps errno.
__attribute__((visibility("hidden"))) int refusal(enum kind kind, void* caller);

// The same for an open. Opens of files about single processes in /proc never count, since their number depends on the
// machine; they fail like all others once a permanent fault has begun.
__attribute__((visibility("hidden"))) int refusal_of_open(const char* path, void* caller);

// Restarts the counts; for a forked child.
__attribute__((visibility("hidden"))) void forget_calls(void);

static inline long raw(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}

static inline long returned(long result) {
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}
