// SPDX-License-Identifier: BSL-1.0
// Report: libunwind/libunwind 924
// Situation: a handler on an alternate stack raises another signal, whose handler raises a third one; each
//   allocates.
// Holds: all three allocate and return, and their events have stacks.
// Owner: innermost
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static int calls = 0;
__attribute__((noinline)) static void innermost(int number) {
    void* volatile block = malloc((size_t)number + 90);
    free(block);
    ++calls;
}
static void middle(int number) {
    free(malloc((size_t)number));
    raise(SIGURG);
}
static void outer(int number) {
    free(malloc((size_t)number));
    raise(SIGUSR2);
}
int main(void) {
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = outer, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGUSR2, middle);
    signal(SIGURG, innermost);
    for (int i = 0; i < 300; ++i) raise(SIGUSR1);
    puts(calls == 300 ? "ok" : "wrong");
    return 0;
}
