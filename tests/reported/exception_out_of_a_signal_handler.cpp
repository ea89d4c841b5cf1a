// SPDX-License-Identifier: BSL-1.0
// Report: gperftools/gperftools 277
// Situation: a handler of SIGSEGV throws an exception out of the faulting function, and the program goes on
//   allocating.
// Holds: the exception is caught each time, and no lock is left behind.
// Build: $CXX -O1 -g -std=c++20 -fnon-call-exceptions $SOURCE -o program
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
static void fault(int) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    throw std::runtime_error("an address that is not there, with a text on the heap");
}
[[gnu::noinline]] static int look(const volatile int* at) { return *at; }
int main() {
    struct sigaction action = {};
    action.sa_handler = fault;
    sigaction(SIGSEGV, &action, nullptr);
    int caught = 0;
    for (int i = 0; i < 200; ++i) {
        std::vector<std::string> texts(static_cast<std::size_t>(i % 7), std::string(40, 'x'));
        try {
            caught += look(nullptr) * 0;
        } catch (const std::exception& error) {
            texts.emplace_back(error.what());
            ++caught;
        }
    }
    std::puts(caught == 200 ? "ok" : "wrong");
}
