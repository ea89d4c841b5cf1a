/* SPDX-License-Identifier: BSL-1.0
 * live_threads N: N threads that are alive at once, each with 20 allocations and 20 frees. Ends with 3 where the
 * machine does not allow so many. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { blocks = 20 };
static pthread_barrier_t all_there, all_freed;

static void* work(void* unused) {
    void* volatile block[blocks];
    for (int i = 0; i < blocks; ++i) block[i] = malloc(50 + (size_t)i * 7);
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < blocks; ++i) free(block[i]);
    pthread_barrier_wait(&all_freed);
    return unused;
}

int main(int count, char** words) {
    const int n = count > 1 ? atoi(words[1]) : 1000;
    pthread_t* const threads = malloc((size_t)n * sizeof *threads);
    pthread_attr_t small;
    pthread_barrier_init(&all_there, NULL, (unsigned)n + 1);
    pthread_barrier_init(&all_freed, NULL, (unsigned)n + 1);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    for (int i = 0; i < n; ++i)
        if (pthread_create(&threads[i], &small, work, NULL) != 0) {
            printf("only %d\n", i);
            fflush(stdout);
            _Exit(3);
        }
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_freed);
    for (int i = 0; i < n; ++i) pthread_join(threads[i], NULL);
    free(threads);
    puts("done");
    return 0;
}
