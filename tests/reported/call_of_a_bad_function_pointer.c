// SPDX-License-Identifier: BSL-1.0
// Report: libunwind/libunwind 449
// Situation: a program calls address 0x123, its handler of SIGSEGV allocates and leaves by siglongjmp.
// Holds: the program goes on, and each event has a stack that ends.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static sigjmp_buf back;
static void handle(int number) {
    void* volatile block = malloc(77);
    free(block);
    siglongjmp(back, number);
}
int main(void) {
    int returned = 0;
    signal(SIGSEGV, handle);
    for (volatile int i = 0; i < 200; ++i) {
        if (sigsetjmp(back, 1) == 0) {
            void (*volatile nowhere)(void) = (void (*)(void))0x123;
            nowhere();
        } else {
            ++returned;
            free(malloc(20));
        }
    }
    puts(returned == 200 ? "ok" : "wrong");
    return 0;
}
