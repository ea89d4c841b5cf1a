// SPDX-License-Identifier: BSL-1.0
// Report: libunwind/libunwind 1059
// Situation: a signal arrives on the first instruction of a function that lies directly behind another one, and
//   the handler allocates.
// Holds: the stack of that allocation leads through the interrupted function to its caller.
// Owner: handler_allocates
// On the stack: interrupted_here
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
static int calls = 0;
__attribute__((noinline)) static void handler_allocates(void) {
    void* volatile block = malloc(48);
    free(block);
}
static void handle(int number, siginfo_t* info, void* context) {
    (void)number, (void)info;
    handler_allocates();
    ++calls;
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 2;
}
__attribute__((naked, noinline, used)) static void before_it(void) { __asm__("ret"); }
__attribute__((naked, noinline, used)) static void interrupted_here(void) { __asm__("ud2; ret"); }
int main(void) {
    struct sigaction action = {0};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, NULL);
    for (int i = 0; i < 300; ++i) {
        before_it();
        interrupted_here();
    }
    puts(calls == 300 ? "ok" : "wrong");
    return 0;
}
