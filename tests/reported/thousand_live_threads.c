// SPDX-License-Identifier: BSL-1.0
// Report: tyoma/micro-profiler 60, Celtoys/Remotery 242
// Situation: a thousand threads are alive at once, each with blocks of its own.
// Holds: no event of any of them is lost.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_barrier_t all;
static void* work(void* nothing) {
    void* blocks[20];
    for (int i = 0; i < 20; ++i) blocks[i] = malloc((size_t)(50 + i * 7));
    pthread_barrier_wait(&all);
    for (int i = 0; i < 20; ++i) free(blocks[i]);
    pthread_barrier_wait(&all);
    return nothing;
}
int main(void) {
    enum { threads = 1000 };
    static pthread_t thread[threads];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all, NULL, threads + 1);
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&thread[i], &small, work, NULL) != 0) return 3;
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    for (int i = 0; i < threads; ++i) pthread_join(thread[i], NULL);
    puts("ok");
    return 0;
}
