// SPDX-License-Identifier: BSL-1.0
// Report: async-profiler/async-profiler 1130, LGE-OSS/heaptrace 1
// Situation: each of malloc, calloc, realloc, posix_memalign, aligned_alloc, memalign and reallocarray is called
//   100 times with a size of its own.
// Holds: the trace has exactly 100 allocations of each of these sizes: no wrapper counts twice, none is missed.
// Allocations: 100 of 10007, 100 of 10009, 100 of 10037, 100 of 10039, 100 of 10061, 100 of 10067, 100 of 10069
// Build: $CC -O0 -g -fno-builtin $SOURCE -o program
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    for (int i = 0; i < 100; ++i) {
        void* block = NULL;
        free(malloc(10007));
        free(calloc(1, 10009));
        free(realloc(NULL, 10037));
        if (posix_memalign(&block, 64, 10039) != 0) return 1;
        free(block);
        free(aligned_alloc(64, 10061));
        free(memalign(128, 10067));
        free(reallocarray(NULL, 1, 10069));
    }
    puts("ok");
    return 0;
}
