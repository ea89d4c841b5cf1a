// SPDX-License-Identifier: BSL-1.0
#include "lab/probes/trap_action.hpp"

#include <cstdint>

#include "preload/system.hpp"

namespace millpond::probes {
namespace {

// The kernel's own form of an action, because we intercept the C library's functions.
struct kernel_action {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
};

[[gnu::naked]] void end_of_handler() { __asm__("mov $15, %eax\n\tsyscall"); }  // rt_sigreturn

constexpr unsigned long restorer = 0x04000000;

struct sigaction theirs = {};

}  // namespace

bool trap_action::take(handler ours) noexcept {
    const kernel_action fresh{ours, SA_SIGINFO | SA_ONSTACK | SA_RESTART | restorer, &end_of_handler,
                              ~std::uint64_t{0}};
    kernel_action before{};
    if (preload::system_call(SYS_rt_sigaction, SIGTRAP, &fresh, &before, sizeof fresh.mask) != 0) return false;
    theirs.sa_sigaction = before.handler;
    theirs.sa_flags = static_cast<int>(before.flags);
    const std::uint64_t trap = std::uint64_t{1} << (SIGTRAP - 1);
    return preload::system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, &trap, nullptr, sizeof trap) == 0;
}

void trap_action::exchange(const struct sigaction* fresh, struct sigaction* before) noexcept {
    const struct sigaction was = theirs;
    if (fresh != nullptr) theirs = *fresh;
    if (before != nullptr) *before = was;
}

// Runs the program's own action, or the default, which ends the process.
void trap_action::pass_on(int signal, siginfo_t* info, void* context) noexcept {
    if (theirs.sa_handler == SIG_IGN && info->si_code <= 0) return;
    if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN) {
        if ((theirs.sa_flags & SA_SIGINFO) != 0)
            theirs.sa_sigaction(signal, info, context);
        else
            theirs.sa_handler(signal);
        return;
    }
    const kernel_action usual{nullptr, restorer, &end_of_handler, 0};
    preload::system_call(SYS_rt_sigaction, SIGTRAP, &usual, nullptr, sizeof usual.mask);
    preload::system_call(SYS_tgkill, preload::system_call(SYS_getpid), preload::system_call(SYS_gettid), SIGTRAP);
}

}  // namespace millpond::probes
