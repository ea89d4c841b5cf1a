// SPDX-License-Identifier: BSL-1.0
// Report: microsoft/mimalloc 846
// Situation: an opened library returns blocks of malloc, strdup, asprintf, getline and realpath, and the program
//   frees them.
// Holds: no block is refused.
// Build: $CC -O1 -shared -fPIC -DPLUGIN $SOURCE -o plugin.so
// Build: $CC -O1 -g $SOURCE -o program
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef PLUGIN
char* give(int i) {
    char* text = NULL;
    switch (i % 4) {
        case 0:
            return strdup("a text from the library");
        case 1:
            return asprintf(&text, "%d is a number", i) < 0 ? NULL : text;
        case 2:
            return realpath("/", NULL);
        default:
            return calloc(3, 50);
    }
}
#else
int main(void) {
    void* library = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 1;
    char* (*give)(int) = (char* (*)(int))dlsym(library, "give");
    for (int i = 0; i < 4000; ++i) {
        char* text = give(i);
        text = realloc(text, 500);
        text[499] = 1;
        free(text);
    }
    dlclose(library);
    puts("ok");
    return 0;
}
#endif
