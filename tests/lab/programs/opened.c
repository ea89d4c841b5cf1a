/* SPDX-License-Identifier: BSL-1.0
 * Opens a library that allocates for it, 100 rounds: opened LIBRARY plain|lazy|deep|none. A round has 10 heap events of
 * the program and the library, whose blocks cross over. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int which(void) { return 1; }

__attribute__((noinline)) static char* own(size_t bytes) {
    char* volatile p = malloc(bytes);
    p[0] = 'a';
    p[1] = 0;
    return p;
}

int main(int count, char** words) {
    if (count < 3) return 2;
    for (int i = 0; i < 100; ++i) free(own(64));
    if (strcmp(words[2], "none") == 0) return 0;
    int flags = RTLD_LOCAL | (strcmp(words[2], "lazy") == 0 ? RTLD_LAZY : RTLD_NOW);
    if (strncmp(words[2], "deep", 4) == 0) flags = RTLD_LOCAL | RTLD_LAZY | RTLD_DEEPBIND;
    void* const library = dlopen(words[1], flags);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    char* (*const grow)(char*, size_t) = (char* (*)(char*, size_t))dlsym(library, "grow");
    void (*const drop)(void*) = (void (*)(void*))dlsym(library, "drop");
    char* (*const give)(void) = (char* (*)(void))dlsym(library, "give");
    int (*const whose)(void) = (int (*)(void))dlsym(library, "whose");
    for (int i = 0; i < 100; ++i) {
        free(grow(own(20 + (size_t)i), 100 + (size_t)i * 50));
        free(give());
        drop(malloc(40));
        drop(strdup("hello"));
    }
    printf("done %d\n", whose());
    return 0;
}
