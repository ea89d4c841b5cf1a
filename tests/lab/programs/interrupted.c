/* SPDX-License-Identifier: BSL-1.0
 * Has a signal handler interrupt malloc's family at every instruction in turn: the processor's trap flag raises SIGTRAP
 * after each, and after the k-th the handler acts.
 *
 *   interrupted ACTION [threads]     fork_exit    fork, and the child ends at once
 *                                    fork_return  fork, and the child finishes the interrupted call, goes on, and ends
 *                                    _Fork_return, clone_return: the same by _Fork and by the raw system call
 *                                    allocate     malloc and free. (The C library's own malloc does not allow that.)
 *   threads: another thread exists meanwhile, so that locks are taken
 *
 * Prints ok, or what did not hold. A child that hangs ends by its alarm. */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { trap_flag = 0x100, steps_max = 1500, live_max = 64, held_max = 40 };

static const char* action;
static volatile long steps, act_at;
static volatile sig_atomic_t acted;
static volatile pid_t child;
static volatile int is_child;

static unsigned char* live[live_max];
static size_t live_bytes[live_max];
static void* held[held_max];
static int held_count;
static void* volatile for_handler;

static void fail(const char* what) {
    dprintf(STDERR_FILENO, "%s, step %ld: %s\n", action, act_at, what);
    _exit(1);
}

static void fill(int i, size_t bytes) {
    live[i] = (unsigned char*)malloc(bytes);
    if (live[i] == NULL) fail("no memory");
    live_bytes[i] = bytes;
    memset(live[i], i, bytes);
}

/* Every block keeps what was written to it: none was given out twice. */
static void check_live(void) {
    for (int i = 0; i < live_max; ++i)
        for (size_t at = 0; live[i] != NULL && at < live_bytes[i]; ++at)
            if (live[i][at] != (unsigned char)i) fail("two blocks overlap");
}

static void churn(unsigned seed) {
    for (int round = 0; round < 200; ++round) {
        seed = seed * 1103515245u + 12345u;
        const int i = (int)(seed >> 16) % live_max;
        free(live[i]);
        fill(i, 1 + (seed >> 8) % 900);
    }
    check_live();
}

static pid_t duplicate(void) {
    if (strncmp(action, "_Fork", 5) == 0) return _Fork();
    if (strncmp(action, "clone", 5) == 0) return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    return fork();
}

static void act(void) {
    if (strcmp(action, "allocate") == 0) {
        void* blocks[4];
        for (int i = 0; i < 4; ++i) {
            blocks[i] = malloc(48);
            if (blocks[i] == NULL) fail("no memory in a signal handler");
            memset(blocks[i], 0xee, 48);
        }
        for (int i = 0; i < 4; ++i) free(blocks[i]);
        free(for_handler); /* of the size that the interrupted call wants */
        return;
    }
    child = duplicate();
    if (child != 0) return;
    alarm(30);
    if (strcmp(action, "fork_exit") == 0) _exit(0);
    is_child = 1;
}

static void on_step(int signal_number, siginfo_t* info, void* context) {
    (void)signal_number, (void)info;
    if (++steps < act_at) return;
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)trap_flag;
    acted = 1;
    act();
}

/* Below the red zone of the function that it is inlined into. */
static inline __attribute__((always_inline)) void set_trap_flag(void) {
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}
static inline __attribute__((always_inline)) void clear_trap_flag(void) {
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static void* volatile sink;

/* Calls the function that is to be interrupted. */
static void call(int which, size_t bytes) {
    switch (which) {
        case 0:
            sink = malloc(bytes), free(sink);
            break;
        case 1:
            sink = calloc(3, bytes), free(sink);
            break;
        case 2:
            sink = malloc(bytes), sink = realloc(sink, bytes * 9), free(sink);
            break;
        case 3:
            sink = memalign(64, bytes), free(sink);
            break;
        default:
            held[held_count] = malloc(bytes), ++held_count;
            break;
    }
}

/* False when the call ended before the step. */
static int interrupt_at(long step, int which, size_t bytes) {
    for_handler = malloc(bytes);
    steps = 0, act_at = step, acted = 0, child = 0;
    set_trap_flag();
    call(which, bytes);
    clear_trap_flag();
    if (!acted || strcmp(action, "allocate") != 0) free(for_handler);
    if (is_child) {
        churn((unsigned)step);
        for (int i = 0; i < live_max; ++i) free(live[i]);
        while (held_count > 0) free(held[--held_count]);
        _exit(0);
    }
    if (child != 0) {
        int status = 1;
        if (child < 0 || waitpid(child, &status, __WALL) != child) fail("no child");
        if (WIFSIGNALED(status)) fail(WTERMSIG(status) == SIGALRM ? "the child hangs" : "the child was killed");
        if (WEXITSTATUS(status) != 0) fail("the child failed");
    }
    return acted;
}

static volatile int stop;
static void* other_thread(void* argument) {
    while (!stop) sched_yield();
    return argument;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    action = argv[1];
    alarm(100);
    pthread_t other;
    if (argc > 2 && pthread_create(&other, NULL, &other_thread, NULL) != 0) return 3;
    struct sigaction on = {0};
    on.sa_sigaction = &on_step;
    on.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &on, NULL);
    for (int i = 0; i < live_max; ++i) fill(i, 1 + (size_t)i * 7);
    /* The slow ways, for blocks that stay, have thousands of instructions: some of them. */
    static const struct {
        int which;
        size_t bytes;
        long first, stride;
    } calls[] = {{0, 40, 1, 1},   {0, 5000, 3, 29}, {1, 100, 2, 7},    {2, 60, 1, 11},
                 {3, 200, 1, 11}, {4, 48, 1, 5},    {4, 30000, 5, 97}, {4, 70000, 20, 193}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        /* The C library's malloc, which serves what is large, may not be entered again. */
        if (calls[i].bytes > 32768 && strcmp(action, "allocate") == 0) continue;
        for (long step = calls[i].first; step < steps_max; step += calls[i].stride) {
            if (!interrupt_at(step, calls[i].which, calls[i].bytes) && (calls[i].which != 4 || step > 400)) break;
            if (held_count > held_max - 2)
                while (held_count > 0) free(held[--held_count]);
            if (step % 16 == 0) churn((unsigned)step);
        }
        churn((unsigned)i);
    }
    stop = 1;
    if (argc > 2) pthread_join(other, NULL);
    puts("ok");
    return 0;
}
