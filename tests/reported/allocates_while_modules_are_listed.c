// SPDX-License-Identifier: BSL-1.0
// Report: bloomberg/memray 662
// Situation: a callback of dl_iterate_phdr allocates, so the loader's lock is held, while another thread opens
//   and closes a library.
// Holds: both threads end.
// Build: $CC -O1 -shared -fPIC -DPLUGIN $SOURCE -o plugin.so
// Build: $CC -O1 -g -pthread $SOURCE -o program
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef PLUGIN
__attribute__((constructor)) static void begin(void) { free(malloc(200)); }
int value(void) { return 3; }
#else
static int look(struct dl_phdr_info* info, size_t size, void* sum) {
    void* block = malloc(64 + size % 64);
    *(long*)sum += info->dlpi_phnum;
    free(block);
    return 0;
}
static void* list(void* nothing) {
    long sum = 0;
    for (int i = 0; i < 2000; ++i) dl_iterate_phdr(look, &sum);
    return sum == 0 ? &look : nothing;
}
int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, list, NULL) != 0) return 1;
    for (int i = 0; i < 200; ++i) {
        void* library = dlopen("./plugin.so", RTLD_NOW);
        if (library == NULL) return 2;
        dlclose(library);
    }
    void* failed = NULL;
    pthread_join(thread, &failed);
    puts(failed == NULL ? "ok" : "wrong");
    return 0;
}
#endif
