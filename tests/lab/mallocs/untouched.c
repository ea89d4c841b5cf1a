/* SPDX-License-Identifier: BSL-1.0
 * Reserves more than it touches: large blocks that are cleared, grow, shrink, are aligned and freed. Ends with 0 if at
 * most 64 MiB were ever resident and all contents are right; 77 where the system has not so many addresses. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const size_t mebibyte = (size_t)1 << 20;

static void expect(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "%s does not hold\n", what);
    exit(1);
}

int main(void) {
    volatile char* const probe = malloc(2048 * mebibyte);
    if (probe == NULL) return 77;
    free((void*)probe);
    char* p = malloc(2048 * mebibyte);
    expect(p != NULL, "2 GiB are given");
    p[0] = p[2048 * mebibyte - 1] = 1;
    free(p);
    for (int round = 0; round < 2; ++round) {
        p = calloc(1024, mebibyte);
        expect(p != NULL && p[500 * mebibyte] == 0 && p[0] == 0 && p[1024 * mebibyte - 1] == 0, "calloc clears");
        memset(p, 5, 2 * mebibyte);
        free(p);
    }
    p = malloc(8 * mebibyte);
    memset(p, 3, mebibyte);
    for (size_t size = 16; size <= 1024; size *= 2) {
        p = realloc(p, size * mebibyte);
        expect(p != NULL && p[1000] == 3 && p[mebibyte - 1] == 3, "growing keeps the bytes");
        p[(size - 1) * mebibyte] = (char)size;
    }
    for (size_t size = 16; size <= 512; size *= 2)
        expect(p[(size - 1) * mebibyte] == (char)size, "growing keeps later bytes");
    p = realloc(p, 100);
    expect(p != NULL && p[50] == 3, "shrinking keeps the bytes");
    free(p);
    p = memalign(256 * mebibyte, 100);
    expect(p != NULL && (uintptr_t)p % (256 * mebibyte) == 0, "alignment");
    free(p);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    if (used.ru_maxrss <= 64 * 1024) return 0;
    fprintf(stderr, "%ld KiB were resident\n", used.ru_maxrss);
    return 1;
}
