// SPDX-License-Identifier: BSL-1.0
// Report: vespa-engine/vespa 18451
// Situation: a program asks mallinfo2, mallinfo, malloc_stats, malloc_info and mallopt, and trims.
// Holds: none of them fails or dies; the figures are plausible. (What they say is the malloc's own affair.)
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    void* blocks[100];
    for (int i = 0; i < 100; ++i) blocks[i] = malloc(3000);
    const struct mallinfo2 info = mallinfo2();
    if (info.uordblks > (size_t)1 << 40) return 1;
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    char* text = NULL;
    size_t bytes = 0;
    FILE* memory = open_memstream(&text, &bytes);
    if (memory == NULL || malloc_info(0, memory) != 0) return 2;
    fclose(memory);
    free(text);
    for (int i = 0; i < 100; ++i) free(blocks[i]);
    malloc_trim(0);
    puts("ok");
    return 0;
}
