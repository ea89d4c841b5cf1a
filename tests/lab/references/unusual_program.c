// SPDX-License-Identifier: BSL-1.0
// unusual_program: cases in which a program meets the limits of a capture; the first argument names one. Each ends with
// 0.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

__attribute__((noinline)) void working(void) {
    for (int i = 0; i < 2000; ++i) {
        volatile char* block = malloc((size_t)(1 + i % 1000));
        block[0] = 1;
        free((void*)block);
    }
}

static inline __attribute__((always_inline)) int folded(int x) {
    int* place = malloc(sizeof *place);
    *place = x;
    const int result = *place;
    free(place);
    return result;
}

__attribute__((noinline)) int never_called(int x) { return 3 * x; }

static int limit(int which, rlim_t value) {
    const struct rlimit both = {value, value};
    return setrlimit(which, &both);
}

static int in_child(void) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        working();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static int become(const char* path) {
    execl(path, "again", "plain", (char*)NULL);
    return 9;
}

static int become_without_a_name(const char* own) {
    char bytes[65536];
    const int from = open(own, O_RDONLY), to = memfd_create("copy", MFD_CLOEXEC);
    for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0;)
        if (write(to, bytes, (size_t)got) != got) return 8;
    char* const words[] = {"again", "plain", NULL};
    fexecve(to, words, environ);
    return 9;
}

static __attribute__((noinline)) int deep_frame(void) {
    volatile char frame[40 << 20];
    for (size_t i = sizeof frame; i > 4096; i -= 4096) frame[i - 1] = 1;
    return 0;
}

static int more_stack(void) {
    const struct rlimit wanted = {64 << 20, RLIM_INFINITY};
    if (setrlimit(RLIMIT_STACK, &wanted) != 0) return deep_frame == NULL; /* not allowed here */
    execl("/proc/self/exe", "again", "deep", (char*)NULL);
    return 9;
}

static void* wait_at(void* barrier) {
    pthread_barrier_wait(barrier);
    return NULL;
}

static int many_threads(int count) {
    pthread_barrier_t barrier;
    pthread_attr_t small;
    pthread_t* threads = calloc((size_t)count, sizeof *threads);
    pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    for (int i = 0; i < count; ++i)
        if (pthread_create(&threads[i], &small, wait_at, &barrier) != 0) return 7;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
    return 0;
}

static int work_in_shared_memory(void* unused) {
    (void)unused;
    return 0;
}

static int share_memory(void) {
    int status = 0;
    char* stack = malloc(1 << 16);
    const int child = clone(work_in_shared_memory, stack + (1 << 16), CLONE_VM | SIGCHLD, NULL);
    waitpid(child, &status, 0);
    return status;
}

static int forbid_sending(void) {
    struct sock_filter rules[] = {
        {0x20, 0, 0, 0}, {0x15, 0, 1, 44 /* sendto */}, {6, 0, 0, SECCOMP_RET_KILL}, {6, 0, 0, SECCOMP_RET_ALLOW}};
    const struct sock_fprog all = {4, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0) return 0;
    working();
    return 0;
}

#if defined __x86_64__
// Executes vpternlogd (AVX-512), written as bytes that every assembler accepts.
static __attribute__((noinline)) void unknown_instruction(void) {
    __asm__ volatile(".byte 0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 0xff" ::: "xmm0");
}
#endif

int main(int count, char** words) {
    const char* const how = count > 1 ? words[1] : "";
    working();
    if (folded(count) != count) return 2;
    if (strcmp(how, "never") == 0) return never_called(0);
    if (strcmp(how, "file_size") == 0) return limit(RLIMIT_FSIZE, 1000) != 0 || (working(), 0);
    if (strcmp(how, "descriptors") == 0) return limit(RLIMIT_NOFILE, 10) != 0 || in_child();
    if (strcmp(how, "again") == 0) return become("/proc/self/exe");
    if (strcmp(how, "nameless") == 0) return become_without_a_name(words[0]);
    if (strcmp(how, "deep") == 0) return deep_frame();
    if (strcmp(how, "stack") == 0) return more_stack();
    if (strcmp(how, "threads") == 0) return many_threads(atoi(words[2]));
    if (strcmp(how, "shared") == 0) return share_memory();
    if (strcmp(how, "seccomp") == 0) return forbid_sending();
    if (strcmp(how, "wait") == 0) return (puts("here"), fflush(stdout), pause());
    if (strcmp(how, "killed") == 0) return kill(getppid(), 0) + pause();
    if (strcmp(how, "close") == 0) {
        for (int i = 3; i < 70000; ++i) close(i);
        working();
        return in_child();
    }
#if defined __x86_64__
    if (strcmp(how, "instruction") == 0) unknown_instruction();
#endif
    return 0;
}
