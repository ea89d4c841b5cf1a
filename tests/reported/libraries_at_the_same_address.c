// SPDX-License-Identifier: BSL-1.0
// Report: namhyung/uftrace 24, jeremy-rifkin/cpptrace 247
// Situation: two libraries are opened and closed in turn, so that one often lies where the other did.
// Holds: each allocation belongs to the function of the library that was there at that time.
// Build: $CC -O1 -g -shared -fPIC -DNAME=allocates_in_first $SOURCE -o first.so && $CC -O1 -g -shared -fPIC
//   -DNAME=allocates_in_second $SOURCE -o second.so
// Build: $CC -O1 -g $SOURCE -o program
// Owner: allocates_in_first
// Owner: allocates_in_second
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef NAME
__attribute__((noinline)) void* NAME(int i) {
    void* volatile block = malloc((size_t)i % 40 + 8);
    return block;
}
#else
int main(void) {
    for (int i = 0; i < 100; ++i) {
        void* library = dlopen(i % 2 ? "./first.so" : "./second.so", RTLD_NOW);
        if (library == NULL) return 1;
        void* (*allocate)(int) = (void* (*)(int))dlsym(library, i % 2 ? "allocates_in_first" : "allocates_in_second");
        for (int k = 0; k < 20; ++k) free(allocate(k));
        dlclose(library);
    }
    puts("ok");
    return 0;
}
#endif
