// SPDX-License-Identifier: BSL-1.0
// hostile: actions of a program that breakpoints in it must not disturb: it blocks or handles SIGTRAP, runs functions
// on other stacks, forks and vforks, loads and unloads libraries, starts many threads. Each case is one word of the
// command line and prints its observations.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

int calls = 0;

}  // namespace

// The observed function.
[[gnu::noinline, gnu::noclone]] void serve(int bytes) {
    void* p = std::malloc(static_cast<std::size_t>(bytes));
    asm volatile("" : "+r"(p) : : "memory");
    std::free(p);
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

namespace {

void say_calls() { std::printf("%d calls\n", calls); }

void block_everything() {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    for (int i = 0; i < 100; ++i) serve(40);
    sigprocmask(SIG_UNBLOCK, nullptr, &before);
    std::printf("SIGTRAP blocked: %d\n", sigismember(&before, SIGTRAP));
    std::thread([] { serve(50); }).join();
}

int traps = 0;
void own_trap() {
    struct sigaction mine{}, seen{};
    mine.sa_handler = [](int) { ++traps; };
    sigaction(SIGTRAP, &mine, nullptr);
    for (int i = 0; i < 10; ++i) {
        serve(40);
        raise(SIGTRAP);
        asm volatile("int3");
    }
    sigaction(SIGTRAP, nullptr, &seen);
    std::printf("%d traps, handler kept: %d\n", traps, seen.sa_handler == mine.sa_handler);
}

void die_of_trap() {
    serve(40);
    std::fflush(stdout);
    raise(SIGTRAP);
    std::puts("still here");
}

// Calls the function in a handler that blocks all signals.
void in_handler() {
    struct sigaction mine{};
    mine.sa_handler = [](int) { serve(24); };
    sigfillset(&mine.sa_mask);
    sigaction(SIGUSR1, &mine, nullptr);
    for (int i = 0; i < 50; ++i) raise(SIGUSR1);
}

ucontext_t here, there;
char other_stack[256 * 1024];
void on_other_stack() {
    getcontext(&there);
    there.uc_stack.ss_sp = other_stack;
    there.uc_stack.ss_size = sizeof other_stack;
    there.uc_link = &here;
    makecontext(&there, [] { serve(64); }, 0);
    swapcontext(&here, &there);
    serve(64);
}

void fork_and_serve() {
    for (int i = 0; i < 5; ++i) {
        std::fflush(stdout);
        if (fork() == 0) {
            for (int j = 0; j < 10; ++j) serve(48);
            say_calls();
            std::fflush(stdout);
            _exit(0);
        }
        wait(nullptr);
        serve(32);
    }
    if (const pid_t child = vfork(); child == 0) {
        serve(16);
        _exit(0);
    } else {
        waitpid(child, nullptr, 0);
    }
}

void many_threads() {
    std::vector<std::thread> all;
    for (int t = 0; t < 16; ++t)
        all.emplace_back([] {
            for (int i = 0; i < 500; ++i) serve(24);
        });
    for (std::thread& t : all) t.join();
}

// Ends the thread by pthread_exit below the function.
[[gnu::noinline]] void* leave_thread(void*) {
    serve(8);
    pthread_exit(nullptr);
}
void exit_threads() {
    for (int i = 0; i < 20; ++i) {
        pthread_t t;
        pthread_create(&t, nullptr, leave_thread, nullptr);
        pthread_join(t, nullptr);
    }
}

void run_again() {
    serve(8);
    std::fflush(stdout);
    const std::string self = "/proc/self/exe";
    execl(self.c_str(), "hostile", "many_threads", static_cast<char*>(nullptr));
}

struct test_case {
    std::string_view name;
    void (*run)();
};
const test_case cases[] = {{"block", block_everything},    {"own", own_trap},         {"die", die_of_trap},
                           {"handler", in_handler},        {"stack", on_other_stack}, {"fork", fork_and_serve},
                           {"many_threads", many_threads}, {"exit", exit_threads},    {"exec", run_again}};

}  // namespace

int main(int argc, char** argv) {
    for (const test_case& one : cases) {
        if (argc < 2 || one.name != argv[1]) continue;
        one.run();
        say_calls();
        return 0;
    }
    return 2;
}
