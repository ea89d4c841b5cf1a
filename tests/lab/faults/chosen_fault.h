// SPDX-License-Identifier: BSL-1.0
// chosen_fault: which call the environment wants to fail (fail_nth.c tells how it says so), and the kernel's own calls.
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

// 0: the call goes on. Else the errno with which it fails, or short_write. `caller` is the return address of the call.
// Safe inside malloc and in signal handlers; errno stays.
__attribute__((visibility("hidden"))) int refusal(enum kind kind, void* caller);

// The same for an open. What /proc tells of each process of the machine is opened as often as there are processes: such
// opens never count, but fail with all others once a permanent fault has begun.
__attribute__((visibility("hidden"))) int refusal_of_open(const char* path, void* caller);

// A forked child counts its calls from 1 again.
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
