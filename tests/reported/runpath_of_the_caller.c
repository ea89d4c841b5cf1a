// SPDX-License-Identifier: BSL-1.0
// Report: KDE/heaptrack 48, google/sanitizers 1219
// Situation: a preloaded library interposes dlopen, and the C library then searches the RUNPATH of that library
//   instead of the caller's.
// Holds: the program opens a plugin that only its own RUNPATH finds, and the plugin one that only the plugin's
//   RUNPATH finds.
// Build: mkdir -p near far && $CC -O1 -shared -fPIC -DINNER $SOURCE -o far/libinner_plugin.so
// Build: $CC -O1 -shared -fPIC -DOUTER $SOURCE -o near/libouter_plugin.so
//   -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../far'
// Build: $CC -O1 $SOURCE -o program -Wl,--enable-new-dtags,-rpath,'$ORIGIN/near'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#if defined INNER
char* inner(void) { return malloc(31); }
#elif defined OUTER
char* outer(void) {
    void* library = dlopen("libinner_plugin.so", RTLD_NOW);
    if (library == NULL) {
        puts(dlerror());
        return NULL;
    }
    char* (*inner)(void) = (char* (*)(void))dlsym(library, "inner");
    return inner();
}
#else
int main(void) {
    void* library = dlopen("libouter_plugin.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    char* (*outer)(void) = (char* (*)(void))dlsym(library, "outer");
    char* block = outer();
    if (block == NULL) return 2;
    free(block);
    puts("ok");
    return 0;
}
#endif
