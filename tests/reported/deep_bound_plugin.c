// SPDX-License-Identifier: BSL-1.0
// Report: gperftools/gperftools 1148, google/tcmalloc 129, falcosecurity/falco 3704, microsoft/snmalloc 595,
//   google/sanitizers 611, oneapi-src/unified-runtime 803, DataDog/ddprof 446
// Situation: a plugin that was opened with RTLD_DEEPBIND finds malloc, realloc and free in the C library first,
//   and gets blocks of the program.
// Holds: no heap gets a block of another one; the recording has every event, those of the plugin, too.
// Allocations: 100 of 30011, 100 of 30013
// Build: $CC -O1 -shared -fPIC -DPLUGIN $SOURCE -o plugin.so
// Build: $CC -O1 -g $SOURCE -o program
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef PLUGIN
char* grow(char* block, size_t bytes) {
    block = realloc(block, bytes);
    if (block != NULL) memset(block, 'x', bytes);
    return block;
}
void drop(void* block) { free(block); }
char* give(void) { return malloc(30013); }
#else
int main(void) {
    void* library = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (library == NULL) return 2;
    char* (*grow)(char*, size_t) = (char* (*)(char*, size_t))dlsym(library, "grow");
    void (*drop)(void*) = (void (*)(void*))dlsym(library, "drop");
    char* (*give)(void) = (char* (*)(void))dlsym(library, "give");
    for (int i = 0; i < 100; ++i) {
        free(grow(malloc(20), 30011));
        free(give());
        drop(strdup("a text of the program"));
    }
    puts("ok");
    return 0;
}
#endif
