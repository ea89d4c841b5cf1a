// SPDX-License-Identifier: BSL-1.0
// Report: koute/bytehound 70, honggyukim/heaptrace 3
// Situation: memalign, pvalloc, valloc, aligned_alloc and posix_memalign are called, each freed and grown by
//   realloc.
// Holds: each block is aligned as asked, has its bytes, and is freed by free.
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void use(void* block, size_t alignment, size_t bytes) {
    if (block == NULL || (uintptr_t)block % alignment != 0 || malloc_usable_size(block) < bytes) {
        printf("wrong: %zu bytes aligned to %zu\n", bytes, alignment);
        exit(1);
    }
    memset(block, 7, bytes);
    char* grown = realloc(block, bytes + 1000);
    for (size_t i = 0; i < bytes; ++i)
        if (grown[i] != 7) exit(2);
    free(grown);
}
int main(void) {
    for (size_t alignment = 8; alignment <= 1 << 16; alignment *= 2) {
        for (size_t bytes = 1; bytes < 20000; bytes = bytes * 3 + 1) {
            void* block = NULL;
            use(memalign(alignment, bytes), alignment, bytes);
            use(aligned_alloc(alignment, bytes), alignment, bytes);
            if (posix_memalign(&block, alignment, bytes) != 0) return 3;
            use(block, alignment, bytes);
        }
    }
    use(valloc(100), 4096, 100);
    use(pvalloc(5000), 4096, 8192);
    puts("ok");
    return 0;
}
