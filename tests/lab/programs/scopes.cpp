// SPDX-License-Identifier: BSL-1.0
// scopes: functions with objects that outlive them or not. Each case is one word of the command line; the expected
// answers are in tests/lab/transparency/test_scopes.py. Consecutive calls have no heap event between them, so a trace
// of allocations cannot tell them apart.
#include <setjmp.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#define KEPT [[gnu::noinline, gnu::noclone]]

namespace {

constexpr int many = 1000;

// Allocates a block in its caller; the compiler cannot know that the block is never read.
[[gnu::always_inline]] inline void* take(std::size_t bytes) {
    void* p = std::malloc(bytes);
    asm volatile("" : "+r"(p) : : "memory");
    return p;
}

// An object that one step allocates and the next one frees.
void* state = nullptr;
}  // namespace

KEPT void step() {
    std::free(state);
    state = take(40);
}

struct widget {
    KEPT widget() : buffer(take(64)) {}
    KEPT ~widget() { std::free(buffer); }
    widget(const widget&) = delete;
    widget& operator=(const widget&) = delete;
    void* buffer;
};

struct node {
    node *left, *right;
};

KEPT node* build(int depth) {
    auto* const made = static_cast<node*>(take(sizeof(node)));
    made->left = depth > 0 ? build(depth - 1) : nullptr;
    made->right = depth > 0 ? build(depth - 1) : nullptr;
    return made;
}

KEPT void tear_down(node* tree) {
    if (tree == nullptr) return;
    tear_down(tree->left);
    tear_down(tree->right);
    std::free(tree);
}

struct session {
    KEPT void add(std::size_t bytes) { items[count++] = take(bytes); }
    KEPT void close() {
        while (count > 0) std::free(items[--count]);
    }
    void* items[many];
    int count = 0;
};

KEPT void handle_request(int i) {
    void* const a = take(16 * 1024);
    void* const b = take(100 + static_cast<std::size_t>(i % 7));
    std::free(a);
    std::free(b);  // by a jump, where the compiler makes one of a last call
}

// A function whose last call replaces it and frees its objects.
KEPT void parse() { tear_down(build(6)); }

// A recursive function whose outermost call frees all.
node* solved = nullptr;
KEPT void solve(int depth, bool outermost) {
    auto* const made = static_cast<node*>(take(sizeof(node)));
    *made = {solved, nullptr};
    solved = made;
    if (depth > 0) solve(depth - 1, false);
    for (; outermost && solved != nullptr; std::free(std::exchange(solved, solved->left))) {
    }
}

struct keeper {
    void* held = nullptr;
};
// Throws; the exception's memory is allocated here, and not in the functions that it leaves.
KEPT void fail() { throw std::runtime_error("out"); }
KEPT void fill_and_throw(keeper& k) {
    k.held = take(80);
    fail();
    asm volatile("");
}
KEPT void free_deeper(keeper& k) {
    char frame[512];
    asm volatile("" : : "r"(frame) : "memory");
    std::free(k.held);
    k.held = nullptr;
}
// Allocates an object that is freed while the exception passes.
KEPT void clean_and_throw() {
    const std::unique_ptr<void, void (*)(void*)> held(take(96), std::free);
    fail();
}

jmp_buf back;
KEPT void fill_and_jump(keeper& k) {
    k.held = take(72);
    longjmp(back, 1);
}
KEPT void clean_and_jump() {
    std::free(take(56));
    longjmp(back, 1);
}

// Jumps out of functions by means that no library sees.
void* builtin_back[5];
KEPT void fill_and_vanish(keeper& k) {
    k.held = take(104);
    __builtin_longjmp(builtin_back, 1);
}
// Frees in a frame that covers the previous function's frame and leaves its return address in place.
KEPT void free_in_large_frame(keeper& k) {
    char frame[4096];
    asm volatile("" : : "r"(frame) : "memory");
    free_deeper(k);
    asm volatile("" : : "r"(frame) : "memory");
}

KEPT void work() {
    void* const p = take(120);
    std::free(p);
}
KEPT void produce(std::vector<void*>& queue) {
    for (void*& place : queue) place = take(32);
}

std::vector<void*> cache;
KEPT void look_up(std::size_t key) {
    if (cache[key] == nullptr) cache[key] = take(48);
}

// Two functions that are called from one place.
keeper shared;
KEPT void open_it() { shared.held = take(88); }
KEPT void close_it() { std::free(shared.held); }

namespace {

struct test_case {
    std::string_view name;
    void (*run)();
};

const test_case cases[] = {
    {"step",
     [] {
         for (int i = 0; i < many; ++i) step();
         std::free(state);
     }},
    {"constructor",
     [] {
         for (int i = 0; i < many; ++i) {
             widget a, b;
             asm volatile("" : : "r"(&a), "r"(&b) : "memory");
         }
     }},
    {"builder", [] { tear_down(build(8)); }},
    {"session",
     [] {
         session s;
         for (int i = 0; i < many; ++i) s.add(24);
         s.close();
     }},
    {"request",
     [] {
         for (int i = 0; i < 20 * many; ++i) handle_request(i);
     }},
    {"parse",
     [] {
         for (int i = 0; i < 10; ++i) parse();
     }},
    {"solve",
     [] {
         for (int i = 0; i < 10; ++i) solve(5, true);
     }},
    {"exception",
     [] {
         keeper k;
         for (int i = 0; i < 100; ++i) {
             try {
                 fill_and_throw(k);
             } catch (const std::exception&) {
             }
             free_deeper(k);
             try {
                 clean_and_throw();
             } catch (const std::exception&) {
             }
         }
     }},
    {"longjmp",
     [] {
         static keeper k;
         static int i;
         for (i = 0; i < 100; ++i) {
             if (setjmp(back) == 0) fill_and_jump(k);
             free_deeper(k);
             if (setjmp(back) == 0) clean_and_jump();
         }
     }},
    {"vanish",
     [] {
         static keeper k;
         static int i;
         for (i = 0; i < 100; ++i) {
             if (__builtin_setjmp(builtin_back) == 0) fill_and_vanish(k);
             free_in_large_frame(k);
         }
     }},
    {"threads",
     [] {
         std::vector<void*> queue(many);
         std::thread maker([&] {
             for (int i = 0; i < many; ++i) work();
             produce(queue);
         });
         for (int i = 0; i < many; ++i) work();
         maker.join();
         for (void* p : queue) std::free(p);
     }},
    {"cache",
     [] {
         cache.assign(10, nullptr);
         for (std::size_t i = 0; i < many; ++i) look_up(i % 10);
         for (void* p : cache) std::free(p);
     }},
    {"dispatch",
     [] {
         void (*const steps[])() = {open_it, close_it};
         for (int i = 0; i < 2 * many; ++i) {
             asm volatile("" : "+r"(i));
             steps[i % 2]();
         }
     }},
};

}  // namespace

int main(int argc, char** argv) {
    for (const test_case& one : cases) {
        if (argc < 2 || one.name != argv[1]) continue;
        one.run();
        std::puts("done");
        return 0;
    }
    return 2;
}
