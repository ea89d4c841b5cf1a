// SPDX-License-Identifier: BSL-1.0
// fail_nth: a preloaded library that makes the n-th call of one kind fail, in one program or in one of its libraries.
//
//   LD_PRELOAD=libfail_nth.so FAIL_NTH=write:3:ENOSPC:ONCE FAIL_NTH_PROGRAM=millpond-record  PROGRAM
//
// FAIL_NTH          KIND:N:ERROR:ONCE|FOREVER. Calls of a kind are counted from 1 in each process image; a forked child
//                   counts from 1 again. FOREVER fails the N-th and all later calls. ERROR is a name in `errors`, or
//                   SHORT: a write then takes half of its bytes.
// FAIL_NTH_PROGRAM  name of the executable's file; no other program is touched. Unset: every program.
// FAIL_NTH_CALLER   part of a library's path; only calls made by that library count. Unset: calls of any caller.
// FAIL_NTH_FORKED   set: only calls of forked processes count, not of those that began with an exec.
// FAIL_NTH_REPORT   a line is added to this file for each call that was made to fail.
//
// The recorder calls the kernel through `syscall`, so that function is sorted into the same kinds by its number. Writes
// to the three standard streams never count: they are how a program says that something failed. Calls that the C
// library makes inside itself (the open in fopen) cannot be seen here; fopen and opendir count as an open instead.
// Nothing here allocates, so the functions may be called from inside malloc. x86-64 Linux.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "chosen_fault.h"

#define CALLER __builtin_return_address(0)
#define REFUSE(kind, result) REFUSE_FOR(refusal((kind), CALLER), result)
#define REFUSE_FOR(why, result) \
    do {                        \
        const int why_ = (why); \
        if (why_ > 0) {         \
            errno = why_;       \
            return (result);    \
        }                       \
    } while (0)
#define NEXT(type, name) ((type)(uintptr_t)dlsym(RTLD_NEXT, (name)))

// --- open ---
static int mode_of(int flags, va_list list) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, int) : 0; }

int open(const char* path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const int mode = mode_of(flags, list);
    va_end(list);
    REFUSE_FOR(refusal_of_open(path, CALLER), -1);
    return (int)returned(raw(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0));
}
int openat(int at, const char* path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const int mode = mode_of(flags, list);
    va_end(list);
    REFUSE_FOR(refusal_of_open(path, CALLER), -1);
    return (int)returned(raw(SYS_openat, at, (long)path, flags, mode, 0, 0));
}
int creat(const char* path, mode_t mode) {
    REFUSE_FOR(refusal_of_open(path, CALLER), -1);
    return (int)returned(raw(SYS_creat, (long)path, mode, 0, 0, 0, 0));
}
FILE* fopen(const char* path, const char* mode) {
    REFUSE_FOR(refusal_of_open(path, CALLER), NULL);
    return NEXT(FILE * (*)(const char*, const char*), "fopen")(path, mode);
}
DIR* opendir(const char* path) {
    REFUSE_FOR(refusal_of_open(path, CALLER), NULL);
    return NEXT(DIR * (*)(const char*), "opendir")(path);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int at, const char* path, int flags, ...) __attribute__((alias("openat")));
int creat64(const char* path, mode_t mode) __attribute__((alias("creat")));
FILE* fopen64(const char* path, const char* mode) __attribute__((alias("fopen")));

// --- write ---
static ssize_t written(long number, int to, const void* from, size_t bytes, off_t offset, void* caller) {
    const int why = to > STDERR_FILENO ? refusal(k_write, caller) : 0;
    if (why > 0) return returned(-why);
    if (why == short_write) bytes = (bytes + 1) / 2;
    return returned(raw(number, to, (long)from, (long)bytes, offset, 0, 0));
}
ssize_t write(int to, const void* from, size_t bytes) { return written(SYS_write, to, from, bytes, 0, CALLER); }
ssize_t pwrite(int to, const void* from, size_t bytes, off_t offset) {
    return written(SYS_pwrite64, to, from, bytes, offset, CALLER);
}
ssize_t pwrite64(int to, const void* from, size_t bytes, off_t offset) __attribute__((alias("pwrite")));
ssize_t writev(int to, const struct iovec* parts, int count) {
    const int why = to > STDERR_FILENO ? refusal(k_write, CALLER) : 0;
    if (why > 0) return returned(-why);
    if (why == short_write)  // the first part that is not empty, and of that one half
        for (int i = 0; i < count; ++i)
            if (parts[i].iov_len > 0)
                return returned(raw(SYS_write, to, (long)parts[i].iov_base, (long)(parts[i].iov_len + 1) / 2, 0, 0, 0));
    return returned(raw(SYS_writev, to, (long)parts, count, 0, 0, 0));
}
size_t fwrite(const void* from, size_t bytes, size_t count, FILE* to) {
    if (fileno(to) > STDERR_FILENO) REFUSE(k_write, 0);
    return NEXT(size_t (*)(const void*, size_t, size_t, FILE*), "fwrite")(from, bytes, count, to);
}
int fflush(FILE* to) {
    if (to != NULL && fileno(to) > STDERR_FILENO) REFUSE(k_write, EOF);
    return NEXT(int (*)(FILE*), "fflush")(to);
}

// --- memory ---
void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
    REFUSE(k_mmap, MAP_FAILED);
    return (void*)returned(raw(SYS_mmap, (long)at, (long)bytes, protection, flags, file, offset));
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int file, off_t offset) __attribute__((alias("mmap")));
void* mremap(void* old, size_t old_bytes, size_t bytes, int flags, ...) {
    va_list list;
    va_start(list, flags);
    void* const at = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : NULL;
    va_end(list);
    REFUSE(k_mmap, MAP_FAILED);
    return (void*)returned(raw(SYS_mremap, (long)old, (long)old_bytes, (long)bytes, flags, (long)at, 0));
}
int madvise(void* at, size_t bytes, int advice) {
    REFUSE(k_madvise, -1);
    return (int)returned(raw(SYS_madvise, (long)at, (long)bytes, advice, 0, 0, 0));
}

// --- sizes and names of files ---
int ftruncate(int file, off_t bytes) {
    REFUSE(k_ftruncate, -1);
    return (int)returned(raw(SYS_ftruncate, file, bytes, 0, 0, 0, 0));
}
int truncate(const char* path, off_t bytes) {
    REFUSE(k_ftruncate, -1);
    return (int)returned(raw(SYS_truncate, (long)path, bytes, 0, 0, 0, 0));
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
    REFUSE(k_fallocate, -1);
    return (int)returned(raw(SYS_fallocate, file, mode, offset, bytes, 0, 0));
}
int posix_fallocate(int file, off_t offset, off_t bytes) {
    const int why = refusal(k_fallocate, CALLER);
    return why > 0 ? why : (int)-raw(SYS_fallocate, file, 0, offset, bytes, 0, 0);
}
int ftruncate64(int file, off_t bytes) __attribute__((alias("ftruncate")));
int truncate64(const char* path, off_t bytes) __attribute__((alias("truncate")));
int fallocate64(int file, int mode, off_t offset, off_t bytes) __attribute__((alias("fallocate")));
int posix_fallocate64(int file, off_t offset, off_t bytes) __attribute__((alias("posix_fallocate")));

int rename(const char* from, const char* to) {
    REFUSE(k_rename, -1);
    return (int)returned(raw(SYS_rename, (long)from, (long)to, 0, 0, 0, 0));
}
int renameat(int from_at, const char* from, int to_at, const char* to) {
    REFUSE(k_rename, -1);
    return (int)returned(raw(SYS_renameat2, from_at, (long)from, to_at, (long)to, 0, 0));
}
int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
    REFUSE(k_rename, -1);
    return (int)returned(raw(SYS_renameat2, from_at, (long)from, to_at, (long)to, flags, 0));
}
int mkdir(const char* path, mode_t mode) {
    REFUSE(k_mkdir, -1);
    return (int)returned(raw(SYS_mkdir, (long)path, mode, 0, 0, 0, 0));
}
int unlink(const char* path) {
    REFUSE(k_unlink, -1);
    return (int)returned(raw(SYS_unlink, (long)path, 0, 0, 0, 0, 0));
}
int unlinkat(int at, const char* path, int flags) {
    REFUSE(k_unlink, -1);
    return (int)returned(raw(SYS_unlinkat, at, (long)path, flags, 0, 0, 0));
}
int rmdir(const char* path) {
    REFUSE(k_unlink, -1);
    return (int)returned(raw(SYS_rmdir, (long)path, 0, 0, 0, 0, 0));
}
int remove(const char* path) {
    REFUSE(k_unlink, -1);
    const long result = raw(SYS_unlink, (long)path, 0, 0, 0, 0, 0);
    return (int)returned(result == -EISDIR ? raw(SYS_rmdir, (long)path, 0, 0, 0, 0, 0) : result);
}
int link(const char* from, const char* to) {
    REFUSE(k_link, -1);
    return (int)returned(raw(SYS_link, (long)from, (long)to, 0, 0, 0, 0));
}
int linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
    REFUSE(k_link, -1);
    return (int)returned(raw(SYS_linkat, from_at, (long)from, to_at, (long)to, flags, 0));
}
int fsync(int file) {
    REFUSE(k_sync, -1);
    return (int)returned(raw(SYS_fsync, file, 0, 0, 0, 0, 0));
}
int fdatasync(int file) {
    REFUSE(k_sync, -1);
    return (int)returned(raw(SYS_fdatasync, file, 0, 0, 0, 0, 0));
}
int msync(void* at, size_t bytes, int flags) {
    REFUSE(k_sync, -1);
    return (int)returned(raw(SYS_msync, (long)at, (long)bytes, flags, 0, 0, 0));
}

// --- processes ---
static pid_t forgotten(pid_t child) {
    if (child == 0) forget_calls();
    return child;
}
pid_t fork(void) {
    REFUSE(k_fork, -1);
    return forgotten(NEXT(pid_t(*)(void), "fork")());
}
pid_t _Fork(void) {
    REFUSE(k_fork, -1);
    return forgotten(NEXT(pid_t(*)(void), "_Fork")());
}
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
    const int why = refusal(k_fork, CALLER);
    if (why > 0) return why;
    return NEXT(__typeof__(&posix_spawn), "posix_spawn")(pid, path, actions, attributes, arguments, environment);
}
int posix_spawnp(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
    const int why = refusal(k_fork, CALLER);
    if (why > 0) return why;
    return NEXT(__typeof__(&posix_spawnp), "posix_spawnp")(pid, path, actions, attributes, arguments, environment);
}
// Jumps to the real vfork, which returns twice on one stack.
__attribute__((used)) static void* vfork_target(void* caller) {
    const int why = refusal(k_fork, caller);
    errno = why > 0 ? why : errno;
    return why > 0 ? NULL : dlsym(RTLD_NEXT, "vfork");
}
__asm__(
    ".globl vfork\n.type vfork, @function\nvfork:\n"
    "  movq (%rsp), %rdi\n  subq $8, %rsp\n  call vfork_target\n  addq $8, %rsp\n"
    "  testq %rax, %rax\n  jz 1f\n  jmp *%rax\n1: movl $-1, %eax\n  ret\n.size vfork, .-vfork\n");

// --- syscall: the same kinds by number ---
static int kind_of(long number, long first) {
    switch (number) {
        case SYS_open:
        case SYS_openat:
        case SYS_openat2:
        case SYS_creat:
            return k_open;
        case SYS_write:
        case SYS_writev:
        case SYS_pwrite64:
        case SYS_pwritev:
            return first > STDERR_FILENO ? k_write : -1;
        case SYS_mmap:
        case SYS_mremap:
            return k_mmap;
        case SYS_madvise:
            return k_madvise;
        case SYS_ftruncate:
        case SYS_truncate:
            return k_ftruncate;
        case SYS_fallocate:
            return k_fallocate;
        case SYS_rename:
        case SYS_renameat:
        case SYS_renameat2:
            return k_rename;
        case SYS_fork:
        case SYS_vfork:
        case SYS_clone:
        case SYS_clone3:
            return k_fork;
        case SYS_mkdir:
        case SYS_mkdirat:
            return k_mkdir;
        case SYS_unlink:
        case SYS_unlinkat:
        case SYS_rmdir:
            return k_unlink;
        case SYS_link:
        case SYS_linkat:
            return k_link;
        case SYS_fsync:
        case SYS_fdatasync:
        case SYS_msync:
            return k_sync;
        default:
            return -1;
    }
}
long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
    va_end(list);
    const int kind = kind_of(number, a[0]);
    int why = 0;
    if (kind == k_open)
        why = refusal_of_open((const char*)(number == SYS_open || number == SYS_creat ? a[0] : a[1]), CALLER);
    else if (kind >= 0)
        why = refusal((enum kind)kind, CALLER);
    if (why > 0) return returned(-why);
    if (why == short_write && (number == SYS_write || number == SYS_pwrite64)) a[2] = (a[2] + 1) / 2;
    return returned(raw(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}
