// SPDX-License-Identifier: BSL-1.0
// counted: a program of three processes and two threads. Each process prints the number of its heap events.
//
//   counted        objects, a thread, a forked child, a spawned `counted pass`; exit status 5
//   counted wait   the same; before the last objects it says "ready PID", waits for SIGUSR1, says "relayed 1" and waits
//                  for the end of standard input
//   counted pass   700 objects come and go
//
// The numbers of objects differ between the processes, so that their traces can be told apart, and the root's events
// fill more than one block.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>
#include <thread>

#include "../programs/marked.hpp"

extern char** environ;

namespace {

void pass(unsigned long objects) {
    for (unsigned long i = 0; i < objects; ++i) marked::pass(i);
}

void wait_for(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) std::_Exit(98);
    marked::line("child ended with", static_cast<unsigned long>(status));
}

void fork_a_child() {
    const pid_t child = fork();
    if (child == 0) {
        marked::allocations = marked::frees = 0;
        pass(1300);
        marked::say();
        std::_Exit(3);
    }
    wait_for(child);
}

void spawn(char* self) {
    char mode[] = "pass";
    char* const arguments[] = {self, mode, nullptr};
    pid_t child = 0;
    if (posix_spawn(&child, self, nullptr, nullptr, arguments, environ) != 0) std::_Exit(96);
    wait_for(child);
}

// Waits for the signal, which the recorder relays: afterwards the recorder has finished all its work before waiting.
void wait_for_signal_and_end_of_input() {
    marked::line("ready", static_cast<unsigned long>(getpid()));
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    int received = 0;
    if (sigwait(&wanted, &received) != 0) std::_Exit(95);
    marked::line("relayed", 1);
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bool waits = argc > 1 && std::strcmp(argv[1], "wait") == 0;
    if (argc > 1 && std::strcmp(argv[1], "pass") == 0) {
        pass(700);
        marked::say();
        return 0;
    }
    if (waits) {
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGUSR1);
        sigprocmask(SIG_BLOCK, &blocked, nullptr);
    }
    pass(19000);
    std::thread([] { pass(500); }).join();
    fork_a_child();
    spawn(argv[0]);
    if (waits) wait_for_signal_and_end_of_input();
    pass(500);
    marked::say();
    return 5;
}
