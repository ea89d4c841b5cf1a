// SPDX-License-Identifier: BSL-1.0
// Report: microsoft/mimalloc 700, microsoft/mimalloc 602, microsoft/mimalloc 206, purpleprotocol/mimalloc_rust
//   128
// Situation: blocks are as long as they are aligned, and shorter; some are freed in between.
// Holds: each is aligned.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    static void* kept[4000];
    int n = 0;
    for (size_t alignment = 8; alignment <= 1 << 20; alignment *= 2) {
        for (int i = 0; i < 40; ++i) {
            void* one = aligned_alloc(alignment, alignment);
            void* two = NULL;
            if (posix_memalign(&two, alignment, alignment / 2 + 1) != 0) return 1;
            if ((uintptr_t)one % alignment != 0 || (uintptr_t)two % alignment != 0 || one == NULL) {
                printf("not aligned to %zu\n", alignment);
                return 2;
            }
            free(i % 3 ? one : two);
            kept[n++] = i % 3 ? two : one;
        }
    }
    while (n > 0) free(kept[--n]);
    puts("ok");
    return 0;
}
