// SPDX-License-Identifier: BSL-1.0
// Report: yse/easy_profiler 178
// Situation: thousands of threads live for a moment each, some of which allocate and some of which do not.
// Holds: all end, and what the process keeps does not grow with their number.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void* work(void* index) {
    if ((size_t)index % 3 != 0) {
        char* text = strdup("a text");
        void* block = malloc((size_t)index % 2000);
        free(block);
        free(text);
    }
    return NULL;
}
static long resident_kb(void) {
    long pages = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages, &resident) != 2) exit(4);
    fclose(file);
    return resident * 4;
}
int main(void) {
    long after_first = 0;
    for (size_t i = 0; i < 6000; ++i) {
        pthread_t threads[2];
        for (size_t k = 0; k < 2; ++k)
            if (pthread_create(&threads[k], NULL, work, (void*)(2 * i + k)) != 0) return 1;
        for (int k = 0; k < 2; ++k) pthread_join(threads[k], NULL);
        if (i == 1000) after_first = resident_kb();
    }
    const long grown = resident_kb() - after_first;
    if (grown > 8 << 10) printf("grew by %ld KiB\n", grown);
    puts("ok");
    return 0;
}
