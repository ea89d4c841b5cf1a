// SPDX-License-Identifier: BSL-1.0
// Report: sharkdp/fd 2121, jemalloc/jemalloc 1636
// Situation: the program defines malloc, free, calloc and realloc itself, over one static array, and uses them
//   from threads.
// Holds: its own malloc serves it, as without us; no block of one malloc gets to the other.
// Build: $CC -O1 -g -pthread -fno-builtin $SOURCE -o program
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static char memory[64 << 20];
static _Atomic size_t used = 0;
static int is_ours(const void* at) { return (const char*)at >= memory && (const char*)at < memory + sizeof memory; }
void* malloc(size_t bytes) {
    const size_t whole = (bytes + 31) / 16 * 16;
    char* at = memory + __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
    if (at + whole > memory + sizeof memory) return NULL;
    *(size_t*)at = bytes;
    return at + 16;
}
void free(void* at) {
    if (at != NULL && !is_ours(at)) __builtin_trap();
}
void* calloc(size_t n, size_t bytes) {
    void* at = malloc(n * bytes);
    return at != NULL ? memset(at, 0, n * bytes) : NULL;
}
void* realloc(void* at, size_t bytes) {
    if (at == NULL) return malloc(bytes);
    if (!is_ours(at)) __builtin_trap();
    void* moved = malloc(bytes);
    const size_t before = ((size_t*)at)[-2];
    return moved != NULL ? memcpy(moved, at, before < bytes ? before : bytes) : NULL;
}
static void* work(void* nothing) {
    for (int i = 0; i < 2000; ++i) free(realloc(malloc((size_t)i % 90), 100));
    return nothing;
}
int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    char* text = NULL;
    if (asprintf(&text, "%d", 5) != 1 || !is_ours(text)) return 2;
    free(text);
    puts("ok");
    return 0;
}
