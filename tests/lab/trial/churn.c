// SPDX-License-Identifier: BSL-1.0
// churn BLOCKS [PHASE]: replaces blocks of mixed sizes and alignments. A few hundred are alive at any time, and each is
// checked when it is freed. PHASE: all blocks are freed after that number.
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { alive = 400 };

static struct {
    unsigned char* start;
    size_t bytes;
    unsigned char mark;
} held[alive];

static void end(size_t i) {
    for (size_t at = 0; at < held[i].bytes; ++at) {
        if (held[i].start[at] == held[i].mark) continue;
        fprintf(stderr, "block %zu of %zu bytes was overwritten at %zu\n", i, held[i].bytes, at);
        exit(1);
    }
    free(held[i].start);
    held[i].start = NULL;
    held[i].bytes = 0;
}

static void end_all(void) {
    for (size_t i = 0; i < alive; ++i)
        if (held[i].start != NULL) end(i);
}

static void begin(size_t i, uint64_t draw) {
    const size_t bytes = 1 + draw % 200;
    const size_t alignment = (size_t)16 << (draw >> 20) % 3;
    held[i].start = (draw >> 30) % 8 == 0 ? aligned_alloc(alignment, bytes) : malloc(bytes);
    if (held[i].start == NULL || malloc_usable_size(held[i].start) < bytes) {
        fprintf(stderr, "no block of %zu bytes\n", bytes);
        exit(1);
    }
    held[i].bytes = bytes;
    held[i].mark = (unsigned char)(draw >> 40);
    memset(held[i].start, held[i].mark, bytes);
}

int main(int argc, char** argv) {
    const long blocks = argc > 1 ? atol(argv[1]) : 1000;
    const long phase = argc > 2 ? atol(argv[2]) : blocks;
    uint64_t draw = 7;
    for (long n = 0; n < blocks; ++n) {
        if (n % phase == 0) end_all();
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        const size_t i = (draw >> 33) % alive;
        if (held[i].start != NULL) end(i);
        begin(i, draw ^ draw >> 29);
        if (n % 5 != 0) continue;
        const size_t longer = held[i].bytes + 60;
        unsigned char* const moved = realloc(held[i].start, longer);
        if (moved == NULL) return 1;
        memset(moved + held[i].bytes, held[i].mark, 60);
        held[i].start = moved;
        held[i].bytes = longer;
    }
    end_all();
    puts("done");
    return 0;
}
