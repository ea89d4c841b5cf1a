// SPDX-License-Identifier: BSL-1.0
// Says what its heap is like, or ends as it is told.
//
//   program heap       free chunks, and where blocks lie, relative to the heap's begin
//   program end N      exit with N            program kill N      die of signal N
//   program blocks     allocates some blocks, for a recording
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show_heap(void) {
    const struct mallinfo2 info = mallinfo2();
    printf("%zu %zu", info.ordblks + info.smblks, info.uordblks);
    void* const first = malloc(40);
    // Blocks that fill holes have the distances of the holes.
    for (int i = 0; i < 40; ++i) printf(" %td", (char*)malloc(100 + 20 * (size_t)i) - (char*)first);
    printf("\n");
}

int main(int argc, char** argv) {
    const char* const what = argc > 1 ? argv[1] : "";
    const int number = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(what, "heap") == 0) show_heap();
    if (strcmp(what, "end") == 0) return number;
    if (strcmp(what, "kill") == 0) {
        signal(number, SIG_DFL);
        raise(number);
    }
    if (strcmp(what, "blocks") == 0) {
        for (int i = 0; i < 3000; ++i) {
            void* volatile seen = malloc(2000);  // or the compiler leaves both calls out
            free(seen);
        }
    }
    return 0;
}
