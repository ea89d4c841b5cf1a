// SPDX-License-Identifier: BSL-1.0
// stacks: objects allocated under unusual call stacks. Usage: stacks MODE
//
//   jump               longjmp out of frames that have allocated, 1000 times
//   coroutines         eight ucontext coroutines on stacks of their own take turns to allocate
//   thread_coroutines  the same, each coroutine resumed by one thread and then by another
//   frames             frames of up to a megabyte (alloca)
//   recursion          5000 frames deep, an object on each way down and freed on the way up
//   exceptions         thrown through frames that hold objects, and rethrown

#include <alloca.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "marked.hpp"

namespace {

jmp_buf back;
void* volatile left_behind = nullptr;
volatile bool leaves = true;

[[gnu::noinline]] void jump_from(int depth) {
    if (depth == 0) {
        left_behind = marked::allocate(9);
        if (leaves) longjmp(back, 1);
        return;
    }
    marked::pass(static_cast<unsigned long>(depth));
    jump_from(depth - 1);
    marked::pass(0);  // never reached: no tail call either
}

[[gnu::noinline]] void jump_once(int depth) {
    if (setjmp(back) == 0) jump_from(depth);
    marked::release(left_behind);
}

int jumps() {
    for (int i = 0; i < 1000; ++i) {
        jump_once(i % 30);
        marked::pass(static_cast<unsigned long>(i));
    }
    marked::say();
    return 0;
}

constexpr int coroutines = 8;
constexpr std::size_t stack_bytes = 256 * 1024;
ucontext_t home;
ucontext_t inside[coroutines];

[[gnu::noinline]] void nested(int me, int depth) {
    if (depth == 0) {
        void* const object = marked::allocate(static_cast<unsigned long>(me));
        swapcontext(&inside[me], &home);  // others run and allocate between this object's birth and its end
        marked::release(object);
        return;
    }
    nested(me, depth - 1);
    marked::pass(static_cast<unsigned long>(depth));
}

void body(int me) {
    for (int turn = 0; turn < 50; ++turn) nested(me, 3 + (me + turn) % 5);
}

void* fresh_stack() {
    return mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
}

[[gnu::noinline]] void begin(int me) {
    if (getcontext(&inside[me]) != 0) std::_Exit(96);
    inside[me].uc_stack.ss_sp = fresh_stack();
    inside[me].uc_stack.ss_size = stack_bytes;
    inside[me].uc_link = &home;
    makecontext(&inside[me], reinterpret_cast<void (*)()>(body), 1, me);
}

int take_turns(bool change_threads) {
    for (int me = 0; me < coroutines; ++me) begin(me);
    for (int turn = 0; turn < 51; ++turn) {
        const auto everybody = [] {
            for (ucontext_t& each : inside) swapcontext(&home, &each);
        };
        if (change_threads) {
            std::thread(everybody).join();
        } else {
            everybody();
        }
    }
    marked::say();
    return 0;
}

[[gnu::noinline]] void wide_frame(std::size_t bytes) {
    auto* const room = static_cast<volatile char*>(alloca(bytes));
    for (std::size_t i = 0; i < bytes; i += 4096) room[i] = 1;
    marked::pass(bytes);
    room[0] = 2;
}

int frames() {
    for (std::size_t bytes = 16; bytes <= 1 << 20; bytes *= 4) {
        for (int i = 0; i < 10; ++i) wide_frame(bytes + static_cast<std::size_t>(i));
    }
    marked::say();
    return 0;
}

[[gnu::noinline]] unsigned long recurse(unsigned long depth) {
    void* const object = marked::allocate(depth);
    const unsigned long below = depth == 0 ? 0 : recurse(depth - 1);
    marked::release(object);
    return below + 1;
}

int recursion() {
    for (int i = 0; i < 3; ++i) marked::line("frames", recurse(5000));
    marked::say();
    return 0;
}

struct releases {
    void operator()(void* object) const { marked::release(object); }
};

[[gnu::noinline]] void throw_from(int depth) {
    const std::unique_ptr<void, releases> held(marked::allocate(static_cast<unsigned long>(depth)));
    if (depth == 0)
        throw std::runtime_error("a message that is too long to be kept inside of the string object itself");
    try {
        throw_from(depth - 1);
    } catch (const std::runtime_error&) {
        marked::pass(3);
        throw;
    }
}

int exceptions() {
    unsigned long caught = 0;
    for (int i = 0; i < 200; ++i) {
        try {
            throw_from(i % 20);
        } catch (const std::exception& error) {
            caught += std::string_view(error.what()).size() == 71;
        }
    }
    marked::line("caught", caught);
    marked::say();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "jump") return jumps();
    if (mode == "coroutines") return take_turns(false);
    if (mode == "thread_coroutines") return take_turns(true);
    if (mode == "frames") return frames();
    if (mode == "recursion") return recursion();
    if (mode == "exceptions") return exceptions();
    return 2;
}
