// SPDX-License-Identifier: BSL-1.0
// Report: cloudwu/skynet 731, StarRocks/starrocks 39259
// Situation: detached threads that never allocate end, more of them than the C library keeps stacks for, so that
//   it frees their vectors of thread-local storage when their specific data is gone.
// Holds: the threads end, and later threads on the same stacks do, too.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int ended = 0;
static void* idle(void* nothing) {
    usleep(200);
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
    return nothing;
}
int main(void) {
    int started = 0;
    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 14; ++i) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, idle, NULL) != 0) continue;
            pthread_detach(thread);
            ++started;
        }
        usleep(3000);
    }
    while (__atomic_load_n(&ended, __ATOMIC_RELAXED) < started) usleep(1000);
    puts("ok");
    return 0;
}
