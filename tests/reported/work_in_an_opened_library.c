// SPDX-License-Identifier: BSL-1.0
// Report: bloomberg/memray 525, bloomberg/memray 577
// Situation: a program's work is done in a library that it opens.
// Holds: the library's functions own their allocations, and a plan for them runs.
// Owner: make_node
// Build: $CC -O1 -g -shared -fPIC -DPLUGIN $SOURCE -o plugin.so
// Build: $CC -O1 -g $SOURCE -o program
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef PLUGIN
void* make_node(size_t bytes) {
    void* volatile block = malloc(bytes);
    return block;
}
#else
__attribute__((noinline)) static void* make_own(size_t bytes) {
    void* volatile block = malloc(bytes);
    return block;
}
int main(void) {
    void* library = dlopen("./plugin.so", RTLD_NOW);
    if (library == NULL) return 2;
    void* (*make)(size_t) = (void* (*)(size_t))dlsym(library, "make_node");
    for (int i = 0; i < 20000; ++i) {
        void* one = make(48);
        void* two = make_own(64);
        free(one);
        free(two);
    }
    puts("ok");
    return 0;
}
#endif
