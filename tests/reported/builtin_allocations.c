// SPDX-License-Identifier: BSL-1.0
// Report: microsoft/mimalloc 589
// Situation: blocks are asked for by __builtin_malloc, __builtin_calloc and __builtin_realloc, and by strdup,
//   which the compiler may replace.
// Holds: the trace has them, with their sizes.
// Allocations: 50 of 20011, 50 of 20021, 50 of 20023
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void* volatile at;
int main(void) {
    for (int i = 0; i < 50; ++i) {
        at = __builtin_malloc(20011);
        free(at);
        at = __builtin_calloc(1, 20021);
        free(at);
        at = __builtin_realloc(NULL, 20023);
        __builtin_free(at);
    }
    puts("ok");
    return 0;
}
