/* SPDX-License-Identifier: BSL-1.0
 * own_malloc: a program with a malloc of its own linked in, which uses it. With WITHOUT_MAIN: only that malloc. */
#include <stddef.h>

static char heap[1 << 20];
static size_t used;

void* malloc(size_t bytes) {
    void* const block = heap + used;
    used += (bytes + 15) & ~(size_t)15;
    return used <= sizeof heap ? block : NULL;
}
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void* realloc(void* block, size_t bytes) {
    char* const fresh = malloc(bytes);
    for (size_t i = 0; block && fresh && i < bytes && (char*)block + i < fresh; ++i) fresh[i] = ((char*)block)[i];
    return fresh;
}

#ifndef WITHOUT_MAIN
int main(void) {
    for (int i = 0; i < 1000; ++i) {
        void* volatile block = malloc(100);
        free(block);
    }
    return 3;
}
#endif
