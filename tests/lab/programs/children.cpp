// SPDX-License-Identifier: BSL-1.0
// children: processes that change themselves before they allocate, and the rarer ways to make a process.
// Usage: children MODE [N]
//
//   _fork        a child of _Fork, for which no atfork handler runs
//   clone        a child of the raw system call
//   streams      forks while threads read lines and another flushes all streams
//   handler      forks in a signal handler that interrupts heap calls; the child leaves there
//   handler_back the same, but the child returns from the handler and goes on
//   handler_fork forks in a signal handler that interrupts fork
//   daemon       leaves a process behind that allocates when its parent has ended and FILE in argv[3] appears
//   many         50 children at once
//   chain        a child of a child … 30 deep
//   thread_first a child in which a thread of its own has the first events, on a stack that the parent has left
//   clone_thread_first  the same, of the raw system call
//   chroot       a child with another root folder (root only)
//   user         a child of another user (root only)
//   descriptors  a child that has no free descriptor
//   file_limit   a child that may not lengthen any file, and execs
//   filter       forbids itself all system calls but those of a malloc
//   filter_raw   the same, not through the C library
//
// Each process says what it did itself, in one write.

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "marked.hpp"

extern "C" pid_t _Fork(void) noexcept;

namespace {

unsigned long count = 100;

void pass_all() {
    for (unsigned long i = 0; i < count; ++i) marked::pass(i);
}

void forget() { marked::allocations = marked::frees = marked::reallocations = 0; }

// Prints the line of `say` in one write, which no other process can interleave.
void say_at_once() {
    char text[128];
    const int length = snprintf(text, sizeof text, "allocations %lu\nfrees %lu\nreallocations 0\n",
                                marked::allocations.load(), marked::frees.load());
    if (write(STDOUT_FILENO, text, static_cast<std::size_t>(length)) != length) std::_Exit(99);
}

void wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) std::_Exit(98);
}

// Makes a child that runs `change` first and then has its events.
template <class Make, class Change>
int one_child(const Make& make, const Change& change) {
    pass_all();
    const pid_t child = make();
    if (child == 0) {
        forget();
        change();
        pass_all();
        say_at_once();
        _exit(0);
    }
    wait_for(child);
    pass_all();
    say_at_once();
    return 0;
}

pid_t raw_clone() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

void use_all_descriptors() {
    const rlimit few{16, 16};
    if (setrlimit(RLIMIT_NOFILE, &few) != 0) std::_Exit(97);
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
}

volatile bool stop = false;
char long_lines[] = "lines.XXXXXX";

// Descends through different functions, so that each stack is new to an observer.
void descend(unsigned bits, int depth, FILE* file);
[[gnu::noinline]] void left(unsigned bits, int depth, FILE* file) {
    descend(bits, depth, file);
    __asm__ volatile("");
}
[[gnu::noinline]] void right(unsigned bits, int depth, FILE* file) {
    descend(bits, depth, file);
    __asm__ volatile("");
}
void descend(unsigned bits, int depth, FILE* file) {
    if (depth > 0) return bits & 1 ? left(bits >> 1, depth - 1, file) : right(bits >> 1, depth - 1, file);
    char* line = nullptr;
    std::size_t size = 0;
    rewind(file);
    if (getline(&line, &size, file) < 0) std::abort();
    std::free(line);
}

void* read_lines(void* number) {
    FILE* const file = fopen(long_lines, "r");
    auto i = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(number)) * 777777u;
    while (!stop) descend(i++ * 2654435761u >> 8, 20, file);
    fclose(file);
    return nullptr;
}

void* flush_all(void*) {
    while (!stop) {
        fflush(nullptr);
        sched_yield();
    }
    return nullptr;
}

int streams() {
    const int file = mkstemp(long_lines);
    std::string text(599, 'x');
    text += '\n';
    if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return 96;
    pthread_t threads[4];
    for (std::uintptr_t i = 0; i < 3; ++i) pthread_create(threads + i, nullptr, read_lines, reinterpret_cast<void*>(i));
    pthread_create(threads + 3, nullptr, flush_all, nullptr);
    for (unsigned long i = 0; i < count; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        wait_for(child);
    }
    stop = true;
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    unlink(long_lines);
    marked::line("forks", count);
    return 0;
}

volatile int handled = 0;
volatile bool child_returns = false, is_child = false;

void fork_in_handler(int) {
    const int before = errno;
    const pid_t child = fork();
    if (child == 0) {
        if (!child_returns) _exit(0);
        is_child = true;
        errno = before;
        return;
    }
    wait_for(child);
    handled = handled + 1;
    errno = before;
}

// Interrupts every instruction: the signals come from another process.
int handlers(bool interrupt_fork) {
    struct sigaction action{};
    action.sa_handler = fork_in_handler;
    sigaction(SIGUSR1, &action, nullptr);
    const pid_t self = getpid();
    const pid_t sender = fork();
    if (sender == 0) {
        while (getppid() == self) {
            kill(self, SIGUSR1);
            usleep(500);
        }
        _exit(0);
    }
    while (handled < static_cast<int>(count)) {
        if (is_child) _exit(0);
        if (interrupt_fork) {
            const pid_t child = fork();
            if (child == 0) _exit(0);
            wait_for(child);
        } else {
            for (unsigned long i = 0; i < 100 && !is_child; ++i) {
                void* volatile block = std::malloc(1 + i * i % 5000);
                std::free(block);
            }
        }
    }
    signal(SIGUSR1, SIG_IGN);
    if (is_child) _exit(0);  // looked at last, so that none comes after it
    kill(sender, SIGKILL);
    while (waitpid(sender, nullptr, 0) < 0 && errno == EINTR) {
    }
    marked::line("done", 1);
    return 0;
}

int leaves_daemon(const char* file) {
    pass_all();
    say_at_once();
    if (fork() != 0) _exit(0);
    setsid();
    forget();
    while (access(file, F_OK) != 0) usleep(1000);
    pass_all();
    say_at_once();
    _exit(0);
}

int many() {
    constexpr int children = 50;
    for (int i = 0; i < children; ++i) {
        if (fork() != 0) continue;
        forget();
        pass_all();
        say_at_once();
        _exit(0);
    }
    pass_all();
    for (int i = 0; i < children; ++i) wait_for(-1);
    say_at_once();
    return 0;
}

void* pass_in_thread(void*) {
    pass_all();
    return nullptr;
}

// Runs a second thread on the stack of the first, for which the C library allocates nothing more.
void run_thread() {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, pass_in_thread, nullptr) != 0) std::_Exit(97);
    pthread_join(thread, nullptr);
}

int chain(int depth) {
    pass_all();
    if (depth > 0) {
        const pid_t child = fork();
        if (child == 0) {
            forget();
            _exit(chain(depth - 1));
        }
        wait_for(child);
    }
    say_at_once();
    return 0;
}

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int filter(bool raw) {
    pass_all();
    sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           ALLOW(SYS_write),
                           ALLOW(SYS_mmap),
                           ALLOW(SYS_munmap),
                           ALLOW(SYS_mremap),
                           ALLOW(SYS_brk),
                           ALLOW(SYS_futex),
                           ALLOW(SYS_exit_group),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    const sock_fprog program{sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 94;
    if (raw) {
        long result = 0;
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program)
                         : "rcx", "r11", "memory");
        if (result != 0) return 93;
    } else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return 93;
    }
    pass_all();
    say_at_once();
    _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (argc > 2) count = std::strtoul(argv[2], nullptr, 10);
    const auto nothing = [] {};
    if (mode == "_fork") return one_child([] { return _Fork(); }, nothing);
    if (mode == "clone") return one_child(raw_clone, nothing);
    if (mode == "streams") return streams();
    if (mode == "handler") return handlers(false);
    if (mode == "handler_back") {
        child_returns = true;
        return handlers(false);
    }
    if (mode == "handler_fork") return handlers(true);
    if (mode == "daemon" && argc > 3) return leaves_daemon(argv[3]);
    if (mode == "many") return many();
    if (mode == "chain") return chain(30);
    if (mode == "thread_first" || mode == "clone_thread_first") {
        run_thread();
        return mode == "thread_first" ? one_child(fork, run_thread) : one_child(raw_clone, run_thread);
    }
    if (mode == "chroot")
        return one_child(fork, [] {
            if (chroot("/proc/self/fdinfo") != 0 || chdir("/") != 0) _exit(95);
        });
    if (mode == "user")
        return one_child(fork, [] {
            if (setgid(65534) != 0 || setuid(65534) != 0) _exit(95);
        });
    if (mode == "descriptors") return one_child(fork, use_all_descriptors);
    if (mode == "file_limit")
        return one_child(fork, [&] {
            const rlimit none{1024, 1024};
            setrlimit(RLIMIT_FSIZE, &none);
            execl(argv[0], argv[0], "pass", argc > 2 ? argv[2] : "100", nullptr);
        });
    if (mode == "pass") {
        pass_all();
        say_at_once();
        return 0;
    }
    if (mode == "filter") return filter(false);
    if (mode == "filter_raw") return filter(true);
    return 2;
}
