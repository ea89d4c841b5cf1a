// SPDX-License-Identifier: BSL-1.0
// Report: open-telemetry/opentelemetry-ebpf-profiler 1382, swiftlang/llvm-project 4446
// Situation: the last instruction of a function is a call that never returns, so the return address lies in the
//   next function.
// Holds: the function that made the call is on the stack, and not its neighbour.
// Owner: gives_up
// On the stack: ends_with_the_call
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf back;
__attribute__((noinline, noreturn)) static void gives_up(int i) {
    void* volatile block = malloc((size_t)i + 30);
    free(block);
    longjmp(back, 1);
}
__attribute__((noinline, noreturn)) static void ends_with_the_call(int i) { gives_up(i); }
__attribute__((noinline, used)) static void neighbour(void) { puts("never"); }
int main(void) {
    for (volatile int i = 0; i < 300; ++i)
        if (setjmp(back) == 0) ends_with_the_call(i);
    puts("ok");
    return 0;
}
