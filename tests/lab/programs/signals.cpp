// SPDX-License-Identifier: BSL-1.0
// signals: handlers that allocate. Usage: signals MODE
//
//   handler    a handler on the thread's stack, raised 1000 times between other objects
//   alternate  the same on an alternate signal stack
//   nested     a handler on the alternate stack raises a second signal, whose handler runs on the same stack
//   jump       a handler on the alternate stack leaves it by siglongjmp
//   timer      a timer interrupts a loop of malloc and free every 100 µs; its handler does not allocate
//   blocked    every signal is blocked while a thread's worth of objects comes and goes; the mask is as it was
//
// malloc is not for handlers in general; here signals that allocate are raised where no heap call is under way.

#include <setjmp.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <string_view>

#include "marked.hpp"

namespace {

std::atomic<unsigned long> handled{0};
sigjmp_buf back;

[[gnu::noinline]] void allocate_below(int depth) {
    if (depth > 0) allocate_below(depth - 1);
    marked::pass(static_cast<unsigned long>(depth));
}

void allocating_handler(int) {
    ++handled;
    allocate_below(4);
}

void nesting_handler(int) {
    ++handled;
    marked::pass(1);
    raise(SIGUSR2);
    marked::pass(2);
}

void leaving_handler(int) {
    ++handled;
    allocate_below(2);
    siglongjmp(back, 1);
}

void counting_handler(int) { ++handled; }

void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action{};
    action.sa_handler = handler;
    action.sa_flags = flags;
    if (sigaction(signal, &action, nullptr) != 0) std::_Exit(96);
}

void use_alternate_stack() {
    constexpr std::size_t bytes = 128 * 1024;
    stack_t stack{};
    stack.ss_sp = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack.ss_size = bytes;
    if (sigaltstack(&stack, nullptr) != 0) std::_Exit(96);
}

[[gnu::noinline]] void raise_below(int depth) {
    if (depth > 0) {
        raise_below(depth - 1);
        marked::pass(static_cast<unsigned long>(depth));
        return;
    }
    raise(SIGUSR1);
    marked::pass(0);
}

int raise_often() {
    for (int i = 0; i < 1000; ++i) raise_below(i % 10);
    marked::line("handled", handled);
    marked::say();
    return 0;
}

[[gnu::noinline]] void jump_once(int depth) {
    if (sigsetjmp(back, 1) == 0) raise_below(depth);
}

int jumps() {
    for (int i = 0; i < 1000; ++i) {
        jump_once(i % 10);
        marked::pass(static_cast<unsigned long>(i));
    }
    marked::line("handled", handled);
    marked::say();
    return 0;
}

int timer() {
    handle(SIGALRM, counting_handler, SA_RESTART);
    const itimerval often{{0, 100}, {0, 100}};
    if (setitimer(ITIMER_REAL, &often, nullptr) != 0) return 96;
    while (handled < 100) allocate_below(8);
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    marked::line("balanced", marked::allocations == marked::frees);
    return 0;
}

int blocked() {
    sigset_t all;
    sigset_t before;
    sigset_t after;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < 1000; ++i) allocate_below(3);
    sigprocmask(SIG_SETMASK, nullptr, &after);
    unsigned long still = 0;
    for (int signal = 1; signal < 32; ++signal) still += sigismember(&after, signal) == 1;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    marked::line("signals blocked", still);
    marked::say();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "timer") return timer();
    if (mode == "blocked") return blocked();
    if (mode == "handler") {
        handle(SIGUSR1, allocating_handler, 0);
        return raise_often();
    }
    use_alternate_stack();
    handle(SIGUSR2, allocating_handler, SA_ONSTACK);
    if (mode == "alternate") {
        handle(SIGUSR1, allocating_handler, SA_ONSTACK);
        return raise_often();
    }
    if (mode == "nested") {
        handle(SIGUSR1, nesting_handler, SA_ONSTACK);
        return raise_often();
    }
    if (mode == "jump") {
        handle(SIGUSR1, leaving_handler, SA_ONSTACK);
        return jumps();
    }
    return 2;
}
