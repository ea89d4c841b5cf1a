// SPDX-License-Identifier: BSL-1.0
#define _GNU_SOURCE
#include "chosen_fault.h"

#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char* const kind_names[kinds] = {"open",   "write", "mmap",  "madvise", "ftruncate", "fallocate",
                                              "rename", "fork",  "mkdir", "unlink",  "link",      "sync"};
static const struct {
    const char* name;
    int number;
} errors[] = {{"ENOSPC", ENOSPC}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}, {"EACCES", EACCES},
              {"EINTR", EINTR},   {"EIO", EIO},       {"EAGAIN", EAGAIN}, {"EPERM", EPERM}};

static struct {
    int known, active, kind, error, forever, forked;
    long pid;
    unsigned long n, count;
    uintptr_t caller_begin, caller_end;
    const char* report;
} chosen;

static int find_caller(struct dl_phdr_info* info, size_t size, void* part) {
    (void)size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, part) == NULL) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
            chosen.caller_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            chosen.caller_end = chosen.caller_begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static int is_this_program(void) {
    const char* const wanted = getenv("FAIL_NTH_PROGRAM");
    if (wanted == NULL) return 1;
    char path[4096];
    const long length = raw(SYS_readlink, (long)"/proc/self/exe", (long)path, sizeof path - 1, 0, 0, 0);
    if (length <= 0) return 0;
    path[length] = '\0';
    return strcmp(strrchr(path, '/') + 1, wanted) == 0;
}

// Reads the wanted fault from the environment. While the environment does not exist yet, no fault is wanted, and that
// is not remembered.
static void learn(void) {
    if (environ == NULL) return;
    chosen.known = 1;
    const char* at = getenv("FAIL_NTH");
    if (at == NULL || !is_this_program()) return;
    chosen.report = getenv("FAIL_NTH_REPORT");
    const size_t kind_length = strcspn(at, ":");
    for (chosen.kind = 0; chosen.kind < kinds; ++chosen.kind)
        if (strncmp(kind_names[chosen.kind], at, kind_length) == 0 && kind_names[chosen.kind][kind_length] == '\0')
            break;
    at += kind_length + 1;
    while (*at >= '0' && *at <= '9') chosen.n = chosen.n * 10 + (unsigned long)(*at++ - '0');
    ++at;
    const size_t error_length = strcspn(at, ":");
    if (strncmp(at, "SHORT", error_length) == 0) chosen.error = short_write;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i)
        if (strncmp(errors[i].name, at, error_length) == 0) chosen.error = errors[i].number;
    chosen.forever = strcmp(at + error_length, ":FOREVER") == 0;
    const char* const caller = getenv("FAIL_NTH_CALLER");
    chosen.forked = getenv("FAIL_NTH_FORKED") != NULL;
    chosen.pid = raw(SYS_getpid, 0, 0, 0, 0, 0, 0);
    chosen.caller_end = UINTPTR_MAX;
    if (caller != NULL && dl_iterate_phdr(find_caller, (void*)caller) == 0) chosen.caller_end = 0;
    if (chosen.kind == kinds || chosen.n == 0 || chosen.error == 0) abort();  // a mistake in the test
    chosen.active = 1;
}

static void report(void) {
    if (chosen.report == NULL) return;
    const long to = raw(SYS_open, (long)chosen.report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666, 0, 0, 0);
    if (to < 0) return;
    raw(SYS_write, to, (long)"failed\n", 7, 0, 0, 0);
    raw(SYS_close, to, 0, 0, 0, 0, 0);
}

static int concerns(enum kind kind, void* caller) {
    if (!chosen.known) {
        const int before = errno;
        learn();
        errno = before;
    }
    const uintptr_t from = (uintptr_t)caller;
    return chosen.active && (int)kind == chosen.kind && from >= chosen.caller_begin && from < chosen.caller_end &&
           (!chosen.forked || raw(SYS_getpid, 0, 0, 0, 0, 0, 0) != chosen.pid);
}

int refusal(enum kind kind, void* caller) {
    if (!concerns(kind, caller)) return 0;
    const unsigned long count = __atomic_add_fetch(&chosen.count, 1, __ATOMIC_RELAXED);
    if (count < chosen.n || (count > chosen.n && !chosen.forever)) return 0;
    report();
    return chosen.error;
}

int refusal_of_open(const char* path, void* caller) {
    static const char others[] = "/proc/";
    const char first = strncmp(path, others, sizeof others - 1) == 0 ? path[sizeof others - 1] : '\0';
    if (first < '0' || first > '9') return refusal(k_open, caller);
    return concerns(k_open, caller) && chosen.forever && chosen.count >= chosen.n ? chosen.error : 0;
}

void forget_calls(void) { chosen.count = 0; }
