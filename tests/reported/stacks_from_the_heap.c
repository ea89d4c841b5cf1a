// SPDX-License-Identifier: BSL-1.0
// Report: sustrik/libdill 3
// Situation: coroutines run on stacks that malloc gave, switch in every order, allocate there, and their stacks
//   are freed.
// Holds: all end, and their allocations belong to the function that made them.
// Owner: coroutine_allocates
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
enum { many = 40 };
static ucontext_t scheduler, one[many];
static int ended = 0;
__attribute__((noinline)) static void* coroutine_allocates(int i) {
    void* volatile block = malloc((size_t)i * 13 + 20);
    return block;
}
static void work(int i) {
    void* blocks[20];
    for (int k = 0; k < 20; ++k) {
        blocks[k] = coroutine_allocates(i);
        swapcontext(&one[i], &scheduler);
    }
    for (int k = 0; k < 20; ++k) free(blocks[k]);
    ++ended;
}
int main(void) {
    void* stacks[many];
    for (int i = 0; i < many; ++i) {
        stacks[i] = malloc(64 << 10);
        getcontext(&one[i]);
        one[i].uc_stack.ss_sp = stacks[i];
        one[i].uc_stack.ss_size = 64 << 10;
        one[i].uc_link = &scheduler;
        makecontext(&one[i], (void (*)(void))work, 1, i);
    }
    for (int round = 0; round < 21; ++round)
        for (int i = 0; i < many; ++i) swapcontext(&scheduler, &one[(i * 7) % many]);
    for (int i = 0; i < many; ++i) free(stacks[i]);
    puts(ended == many ? "ok" : "wrong");
    return 0;
}
