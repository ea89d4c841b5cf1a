/* SPDX-License-Identifier: BSL-1.0
 * Misuses malloc in the one way that its argument names, and goes on: what a checked malloc has to find.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Values that the compiler cannot see through: it would warn, or leave the misuse out. */
static volatile size_t size = 24;
static char* volatile kept;

static void* page(void) {
    char* const p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p, 4096);
    return p + 4096;
}

int main(int count, char** arguments) {
    char on_stack[64];
    const char* const what = count > 1 ? arguments[1] : "";
    kept = malloc(size);
    memset(kept, 1, size);
    if (strcmp(what, "double_free") == 0) {
        free(kept);
        free(kept);
    } else if (strcmp(what, "overrun") == 0) {
        kept[size] = 1;
        free(kept);
    } else if (strcmp(what, "overrun_at_exit") == 0) {
        kept[size + 3] = 1;
    } else if (strcmp(what, "underrun") == 0) {
        kept[-1] = 1;
        free(kept);
    } else if (strcmp(what, "use_after_free") == 0) {
        free(kept);
        kept[5] = 1;
    } else if (strcmp(what, "use_after_realloc") == 0) {
        char* volatile const moved = realloc(kept, size + 1);
        kept[5] = 1;
        free(moved);
    } else if (strcmp(what, "large_overrun") == 0) {
        size = 100000;
        kept = malloc(size);
        kept[size] = 1;
        free(kept);
    } else if (strcmp(what, "interior") == 0) {
        kept += 8;
        free(kept);
    } else if (strcmp(what, "stack") == 0) {
        kept = on_stack + 16;
        free(kept);
    } else if (strcmp(what, "page") == 0) {
        kept = page();
        free(kept);
    } else if (strcmp(what, "realloc_of_freed") == 0) {
        free(kept);
        kept = realloc(kept, size * 2);
    } else if (strcmp(what, "clean") == 0) {
        free(kept);
    } else {
        return 2;
    }
    puts("done");
    return 0;
}
