// SPDX-License-Identifier: BSL-1.0
// Report: microsoft/mimalloc 577, cloudius-systems/osv 1304
// Situation: buffers for huge pages: alignments of 2 to 64 MiB, sizes from a byte to 64 MiB.
// Holds: each is aligned and usable at both ends.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    for (size_t alignment = 2 << 20; alignment <= 64 << 20; alignment *= 2) {
        for (size_t bytes = 1; bytes <= 64 << 20; bytes *= 4) {
            void* block = NULL;
            if (posix_memalign(&block, alignment, bytes) != 0 || (uintptr_t)block % alignment != 0) {
                printf("%zu bytes aligned to %zu: refused or wrong\n", bytes, alignment);
                return 1;
            }
            ((char*)block)[0] = 1;
            ((char*)block)[bytes - 1] = 2;
            free(block);
        }
    }
    puts("ok");
    return 0;
}
