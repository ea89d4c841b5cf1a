// SPDX-License-Identifier: BSL-1.0
// processes: the ways in which one process becomes several, or another program. Usage: processes MODE [N]
//
//   fork           three children, each with N objects of its own, and a grandchild
//   forked_thread  a child forked by a thread while another thread allocates
//   vfork          a child that execs, one that fails to and leaves by _exit
//   exec           N objects, then the same pid becomes `processes pass N`
//   spawn          posix_spawn of `processes pass N`
//   system         a shell, which starts `processes pass N` in a pipe
//   pass           N objects come and go
//
// Each process says what it did itself, children first: the output is the same on every run.

#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <string>
#include <thread>

#include "marked.hpp"

extern char** environ;

namespace {

unsigned long count = 100;

void pass_all() {
    for (unsigned long i = 0; i < count; ++i) marked::pass(i);
}

void wait_for(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) std::_Exit(98);
    marked::line("child ended with", static_cast<unsigned long>(status));
}

// Clears the counts that a child inherits; its trace has only its own events.
void forget() { marked::allocations = marked::frees = marked::reallocations = 0; }

int forks() {
    void* const inherited = marked::allocate(0);
    for (int child = 0; child < 3; ++child) {
        const pid_t pid = fork();
        if (pid == 0) {
            forget();
            pass_all();
            if (child == 2) {
                const pid_t grandchild = fork();
                if (grandchild == 0) {
                    forget();
                    pass_all();
                    marked::say();
                    return 7;
                }
                wait_for(grandchild);
            }
            std::free(inherited);  // of the parent's: an object that this process's trace never saw begin
            marked::say();
            std::_Exit(child);
        }
        pass_all();
        wait_for(pid);
    }
    marked::release(inherited);
    marked::say();
    return 0;
}

int forks_in_thread() {
    std::atomic<bool> stop{false};
    std::atomic<unsigned long> passed{0};
    std::thread busy([&] {
        while (!stop) {
            marked::pass(passed);
            ++passed;
        }
    });
    while (passed == 0) std::this_thread::yield();
    std::thread forking([] {
        for (int i = 0; i < 8; ++i) {
            const pid_t pid = fork();
            if (pid == 0) {
                pass_all();
                std::_Exit(0);
            }
            wait_for(pid);
        }
    });
    forking.join();
    stop = true;
    busy.join();
    marked::line("balanced", marked::allocations == marked::frees);
    return 0;
}

int vforks(char* self, char* number) {
    pass_all();
    char mode[] = "pass";
    char* const arguments[] = {self, mode, number, nullptr};
    pid_t pid = vfork();
    if (pid == 0) {
        execve(self, arguments, environ);
        _exit(97);
    }
    wait_for(pid);
    pid = vfork();
    if (pid == 0) {
        execve("/nowhere/at/all", arguments, environ);
        _exit(41);
    }
    wait_for(pid);
    marked::say();
    return 0;
}

int spawns(char* self, char* number) {
    char mode[] = "pass";
    char* const arguments[] = {self, mode, number, nullptr};
    pid_t pid = 0;
    if (posix_spawn(&pid, self, nullptr, nullptr, arguments, environ) != 0) return 96;
    wait_for(pid);
    pass_all();
    marked::say();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    char standard[] = "100";
    char* const number = argc > 2 ? argv[2] : standard;
    count = std::strtoul(number, nullptr, 10);
    if (mode == "fork") return forks();
    if (mode == "forked_thread") return forks_in_thread();
    if (mode == "vfork") return vforks(argv[0], number);
    if (mode == "spawn") return spawns(argv[0], number);
    if (mode == "exec") {
        pass_all();
        marked::say();
        execl(argv[0], argv[0], "pass", number, nullptr);
        return 95;
    }
    if (mode == "system") {
        pass_all();
        const int status = std::system((std::string(argv[0]) + " pass " + number + " | cat").c_str());
        marked::line("shell ended with", static_cast<unsigned long>(status));
        marked::say();
        return 0;
    }
    if (mode == "pass") {
        pass_all();
        marked::say();
        return 0;
    }
    return 2;
}
