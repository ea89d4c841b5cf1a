// SPDX-License-Identifier: BSL-1.0
// A program that calls its function `handle` a known number of times: nested, on several threads, and left by
// exceptions. The effects of an arena for each call can therefore be counted exactly.
// `calls MODE CALLS DEPTH THREADS`; MODE: plain, thrown, kept (one object of each call outlives it) or forked.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace shop {

struct order {
    order* next;
    long number;
    char text[40];
};

__attribute__((noinline)) order* make(order* next, long number) {
    auto* const made = static_cast<order*>(std::malloc(sizeof(order) + static_cast<std::size_t>(number) % 3 * 24));
    made->next = next;
    made->number = number;
    std::snprintf(made->text, sizeof made->text, "order %ld", number);
    return made;
}

__attribute__((noinline)) void drop(order* last) {
    while (last != nullptr) {
        char expected[40];
        std::snprintf(expected, sizeof expected, "order %ld", last->number);
        if (std::strcmp(expected, last->text) != 0) std::abort();
        order* const next = last->next;
        std::free(last);
        last = next;
    }
}

struct held {
    order* last = nullptr;
    ~held() { drop(last); }
};

constexpr long orders_of_call = 20;

// Returns an object that outlives the call if `keeps` is true.
__attribute__((noinline)) order* handle(long call, int depth, bool throws, bool keeps) {
    held own;
    order* kept = nullptr;
    if (keeps) kept = make(nullptr, call);
    for (long i = 0; i < orders_of_call / 2; ++i) own.last = make(own.last, call + i);
    if (depth > 0) drop(handle(call + 1000, depth - 1, throws, keeps));
    if (depth == 0 && throws) throw std::runtime_error("left");
    for (long i = 0; i < orders_of_call / 2; ++i) own.last = make(own.last, call - i);
    return kept;
}

}  // namespace shop

static void work(const std::string& mode, long calls, int depth) {
    for (long i = 0; i < calls; ++i) {
        try {
            shop::drop(shop::handle(i, depth, mode == "thrown", mode == "kept"));
        } catch (const std::runtime_error&) {
        }
        shop::drop(shop::make(nullptr, i));  // outside of every call
        if (mode != "forked") continue;
        const pid_t child = fork();
        if (child == 0) {
            shop::drop(shop::handle(i, depth, false, false));
            _exit(0);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) std::abort();
    }
}

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    const std::string mode = argv[1];
    const long calls = std::atol(argv[2]);
    const int depth = std::atoi(argv[3]), threads = std::atoi(argv[4]);
    std::vector<std::thread> running;
    for (int i = 1; i < threads; ++i) running.emplace_back(work, mode, calls, depth);
    work(mode, calls, depth);
    for (std::thread& one : running) one.join();
    return 0;
}
