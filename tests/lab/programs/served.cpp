// SPDX-License-Identifier: BSL-1.0
// served: a program that does what lines of its standard input say, and answers "ok" to each when it is done. A test
// knows so what has happened when, without waiting. A line is a letter and a number N:
//   a, f, r   allocates N objects and keeps them; frees N of them, or all that are left; reallocates the first N
//   w, A, F   starts N threads; each allocates N objects and keeps them; each frees its own
//   J         the threads end
//   g, G      starts N threads that allocate and free one object after the other, in bursts, until G
//   c         forks a child that allocates and frees N objects, and waits for it
//   p, C      forks a child that stays until p 0; it allocates and frees N objects
//   e         becomes itself again, by exec
//   z         forbids itself all system calls but reads, writes and some for memory, then allocates N objects
//   d         leaves the rest to a child, and exits with N
//   x, k      exits with N; kills itself by signal N
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "marked.hpp"

namespace {

constexpr unsigned long kept_max = 100'000, threads_max = 64, each_max = 1000;
void* kept[kept_max];
unsigned long kept_count = 0;

pthread_t threads[threads_max];
unsigned long thread_count = 0;
pthread_barrier_t begin, done;
char job;
unsigned long job_size;

void* work(void*) {
    void* own[each_max];
    unsigned long count = 0;
    while (true) {
        pthread_barrier_wait(&begin);
        if (job == 'A')
            for (unsigned long i = 0; i < job_size; ++i) own[count++] = marked::allocate(i);
        if (job == 'F')
            while (count > 0) marked::release(own[--count]);
        const bool ends = job == 'J';
        pthread_barrier_wait(&done);
        if (ends) return nullptr;
    }
}

void tell_threads(char what, unsigned long size) {
    job = what;
    job_size = size;
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&done);
    if (what != 'J') return;
    for (unsigned long i = 0; i < thread_count; ++i) pthread_join(threads[i], nullptr);
    thread_count = 0;
}

void start_threads(unsigned long count) {
    pthread_barrier_init(&begin, nullptr, static_cast<unsigned>(count) + 1);
    pthread_barrier_init(&done, nullptr, static_cast<unsigned>(count) + 1);
    for (; thread_count < count; ++thread_count) pthread_create(&threads[thread_count], nullptr, work, nullptr);
}

std::atomic<bool> goes_on;

void* go_on(void*) {
    constexpr unsigned long burst = 200;  // with pauses, so that traces stay small
    for (unsigned long i = 0; goes_on; ++i) {
        marked::pass(i);
        if (i % burst == 0) usleep(5000);
    }
    return nullptr;
}

void start_going(unsigned long count) {
    goes_on = true;
    for (; thread_count < count; ++thread_count) pthread_create(&threads[thread_count], nullptr, go_on, nullptr);
}

void end_going() {
    goes_on = false;
    for (; thread_count > 0; --thread_count) pthread_join(threads[thread_count - 1], nullptr);
}

int to_child[2], from_child[2];

[[noreturn]] void stay() {
    for (unsigned long size = 0; read(to_child[0], &size, sizeof size) == sizeof size && size > 0;) {
        for (unsigned long i = 0; i < size; ++i) marked::pass(i);
        if (write(from_child[1], &size, sizeof size) < 0) break;
    }
    _exit(0);
}

void tell_child(unsigned long size) {
    if (write(to_child[1], &size, sizeof size) < 0 || (size > 0 && read(from_child[0], &size, sizeof size) < 0))
        _exit(95);
    if (size == 0) wait(nullptr);
}

void fork_staying() {
    if (pipe(to_child) != 0 || pipe(from_child) != 0) _exit(96);
    if (fork() == 0) stay();
}

void fork_passing(unsigned long count) {
    if (fork() == 0) {
        for (unsigned long i = 0; i < count; ++i) marked::pass(i);
        _exit(0);
    }
    wait(nullptr);
}

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

void forbid_system_calls() {
    sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           ALLOW(SYS_read),
                           ALLOW(SYS_write),
                           ALLOW(SYS_mmap),
                           ALLOW(SYS_munmap),
                           ALLOW(SYS_brk),
                           ALLOW(SYS_exit_group),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    const sock_fprog program{sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(94);
}

// Reads a line without stdio, which would allocate a buffer.
bool read_line(char& letter, unsigned long& number) {
    char each = 0;
    letter = 0;
    number = 0;
    while (read(STDIN_FILENO, &each, 1) == 1 && each != '\n') {
        if (letter == 0)
            letter = each;
        else if (each >= '0' && each <= '9')
            number = number * 10 + static_cast<unsigned long>(each - '0');
    }
    return letter != 0;
}

}  // namespace

int main(int, char** argv) {
    char letter = 0;
    unsigned long n = 0;
    while (read_line(letter, n)) {
        switch (letter) {
            case 'a':
                for (unsigned long i = 0; i < n; ++i) kept[kept_count++] = marked::allocate(i);
                break;
            case 'f':
                for (; n > 0 && kept_count > 0; --n) marked::release(kept[--kept_count]);
                break;
            case 'r':
                for (unsigned long i = 0; i < n; ++i) kept[i] = marked::reallocate(kept[i], i + 1);
                break;
            case 'w':
                start_threads(n);
                break;
            case 'A':
            case 'F':
            case 'J':
                tell_threads(letter, n);
                break;
            case 'g':
                start_going(n);
                break;
            case 'G':
                end_going();
                break;
            case 'c':
                fork_passing(n);
                break;
            case 'p':
                if (n == 0)
                    tell_child(0);
                else
                    fork_staying();
                break;
            case 'C':
                tell_child(n);
                break;
            case 'e':
                execv("/proc/self/exe", argv);
                break;
            case 'z':
                forbid_system_calls();
                for (unsigned long i = 0; i < n; ++i) kept[kept_count++] = marked::allocate(i);
                break;
            case 'd':
                if (fork() != 0) _exit(static_cast<int>(n));
                break;
            case 'x':
                return static_cast<int>(n);
            case 'k':
                kill(getpid(), static_cast<int>(n));
                break;
            default:
                return 98;
        }
        if (write(STDOUT_FILENO, "ok\n", 3) != 3) return 97;
    }
    return 0;
}
