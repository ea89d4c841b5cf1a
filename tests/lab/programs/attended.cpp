// SPDX-License-Identifier: BSL-1.0
// attended: a program of many threads that notices whether it was disturbed. It runs until its standard input ends,
// then prints "undisturbed", or what went wrong, and exits with 0 or 1. Its threads do what a program does, again and
// again:
//   - allocate and free objects, whose contents they check; the n-th request of a thread has marked::bytes(n) bytes,
//     so that a trace shows whether one between two others is missing
//   - wait in system calls that a stop would end with EINTR, without a signal of the program's
//   - load and unload a library, start and end threads, fork
//   - keep values in errno, in SSE and x87 registers, and receive signals of a timer
// The line "s" prints the number of allocations so far.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "marked.hpp"

namespace {

std::atomic<bool> goes_on{true};
std::atomic<const char*> disturbed{nullptr};
std::atomic<unsigned long> signals{0};

void require(bool holds, const char* otherwise) {
    if (!holds) disturbed = otherwise;
}

// A ring of live objects; each has its number in its first and last bytes.
void allocate_all_the_time() {
    constexpr unsigned long live = 64;
    std::array<void*, live> objects{};
    std::array<unsigned long, live> numbers{};
    const auto check = [&](unsigned long at) {
        unsigned long first = 0, last = 0;
        const char* const bytes = static_cast<char*>(objects[at]);
        std::memcpy(&first, bytes, sizeof first);
        std::memcpy(&last, bytes + marked::bytes(numbers[at]) - sizeof last, sizeof last);
        require(first == numbers[at] && last == numbers[at], "an object has other contents");
        marked::release(objects[at]);
    };
    unsigned long n = 0;
    for (; goes_on; ++n) {
        const unsigned long at = n % live;
        if (n >= live) check(at);
        objects[at] = marked::allocate(n);
        numbers[at] = n;
        std::memcpy(objects[at], &n, sizeof n);
        std::memcpy(static_cast<char*>(objects[at]) + marked::bytes(n) - sizeof n, &n, sizeof n);
        constexpr unsigned long burst = 500;  // with pauses, so that traces stay small
        if (n % burst == 0) usleep(2000);
    }
    for (unsigned long at = 0; at < live && at < n; ++at) check(at);
}

void wait_for_events() {
    const int events = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    while (goes_on) require(epoll_wait(events, &event, 1, 20) == 0, "epoll_wait failed");
    close(events);
}

void wait_for_bytes() {
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair failed");
    const timeval span{0, 20'000};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span);
    char byte = 0;
    while (goes_on) require(recv(pair[0], &byte, 1, 0) == -1 && errno == EAGAIN, "recv did not end by its time-out");
    close(pair[0]);
    close(pair[1]);
}

void sleep_often() {
    const timespec span{0, 15'000'000};
    while (goes_on) require(nanosleep(&span, nullptr) == 0, "nanosleep failed");
}

void compute() {
    volatile double factor = 1.0000001;
    while (goes_on) {
        double sum = 0;
        long double long_sum = 0;
        errno = 77;
        for (int i = 0; i < 100'000; ++i) {
            sum += factor * i;
            long_sum += static_cast<long double>(factor) * i;
        }
        require(errno == 77, "errno has changed");
        const long double difference = long_sum - static_cast<long double>(sum);
        require(difference < 1 && difference > -1, "registers have changed");
    }
}

void load_and_unload() {
    while (goes_on) {
        void* const library = dlopen("libutil.so.1", RTLD_LAZY);
        require(library != nullptr, "dlopen failed");
        if (library != nullptr) dlclose(library);
        usleep(500);
    }
}

void start_threads() {
    while (goes_on) std::thread([] { marked::pass(0); }).join();
}

void fork_children() {
    while (goes_on) {
        const pid_t child = fork();
        if (child == 0) _exit(7);
        int status = 0;
        require(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "a child failed");
        usleep(3000);
    }
}

}  // namespace

int main() {
    struct sigaction action{};
    action.sa_handler = [](int) { ++signals; };
    sigaction(SIGPROF, &action, nullptr);
    sigset_t timer;
    sigemptyset(&timer);
    sigaddset(&timer, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &timer, nullptr);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(allocate_all_the_time);
    for (auto* const each :
         {&wait_for_events, &wait_for_bytes, &sleep_often, &load_and_unload, &start_threads, &fork_children})
        threads.emplace_back(each);
    pthread_sigmask(SIG_UNBLOCK, &timer, nullptr);
    threads.emplace_back(compute);  // the one that receives the timer's signals
    pthread_sigmask(SIG_BLOCK, &timer, nullptr);
    const itimerval often{{0, 5000}, {0, 5000}};
    setitimer(ITIMER_PROF, &often, nullptr);
    char letter = 0;
    while (read(STDIN_FILENO, &letter, 1) == 1)
        if (letter == 's') marked::line("allocations", marked::allocations);
    goes_on = false;
    for (std::thread& each : threads) each.join();
    require(signals > 0, "no signal came");
    const char* const wrong = disturbed;
    std::puts(wrong == nullptr ? "undisturbed" : wrong);
    return wrong == nullptr ? 0 : 1;
}
