// SPDX-License-Identifier: BSL-1.0
// Report: jemalloc/jemalloc 915, jemalloc/jemalloc 2981, jemalloc/jemalloc 1234
// Situation: threads create and join threads, so that the C library allocates and frees the vectors of
//   thread-local storage in all of them.
// Holds: all end.
// Build: $CC -O1 -shared -fPIC -DPLUGIN $SOURCE -o plugin.so
// Build: $CC -O1 -g -pthread $SOURCE -o program
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef PLUGIN
static __thread char storage[5000];
int touch(void) { return storage[4999]++; }
#else
static int (*touch)(void);
static void* leaf(void* nothing) {
    touch();
    return nothing;
}
static void* branch(void* nothing) {
    for (int i = 0; i < 30; ++i) {
        pthread_t threads[8];
        for (int k = 0; k < 8; ++k)
            if (pthread_create(&threads[k], NULL, leaf, NULL) != 0) exit(2);
        for (int k = 0; k < 8; ++k) pthread_join(threads[k], NULL);
        free(malloc(100));
    }
    return nothing;
}
int main(void) {
    void* library = dlopen("./plugin.so", RTLD_NOW);
    if (library == NULL) return 1;
    touch = (int (*)(void))dlsym(library, "touch");
    pthread_t threads[4];
    for (int k = 0; k < 4; ++k)
        if (pthread_create(&threads[k], NULL, branch, NULL) != 0) return 2;
    for (int k = 0; k < 4; ++k) pthread_join(threads[k], NULL);
    puts("ok");
    return 0;
}
#endif
