// SPDX-License-Identifier: BSL-1.0
// Report: scylladb/seastar 1940
// Situation: posix_memalign for fewer bytes than the alignment, for every pair up to 64 KiB.
// Holds: each block is aligned.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    for (size_t alignment = 8; alignment <= 1 << 16; alignment *= 2) {
        void* blocks[24];
        int n = 0;
        for (size_t bytes = 1; bytes < alignment; bytes *= 2) {
            if (posix_memalign(&blocks[n], alignment, bytes) != 0) return 1;
            if ((uintptr_t)blocks[n++] % alignment != 0) {
                printf("%zu bytes are not aligned to %zu\n", bytes, alignment);
                return 2;
            }
        }
        while (n > 0) free(blocks[--n]);
    }
    puts("ok");
    return 0;
}
