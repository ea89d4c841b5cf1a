// SPDX-License-Identifier: BSL-1.0
// Report: google/tcmalloc 197, koute/bytehound 75
// Situation: malloc_usable_size of null, and of blocks whose whole usable size is then written.
// Holds: 0 for null; no neighbour is overwritten.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    if (malloc_usable_size(NULL) != 0) return 1;
    unsigned char* blocks[300];
    for (int i = 0; i < 300; ++i) {
        blocks[i] = malloc((size_t)(i * i));
        memset(blocks[i], i, malloc_usable_size(blocks[i]));
    }
    for (int i = 0; i < 300; ++i) {
        for (size_t k = 0; k < malloc_usable_size(blocks[i]); ++k)
            if (blocks[i][k] != (unsigned char)i) return 2;
        free(blocks[i]);
    }
    puts("ok");
    return 0;
}
