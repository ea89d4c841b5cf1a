// SPDX-License-Identifier: BSL-1.0
// Report: microsoft/snmalloc 398, jemalloc/jemalloc 1276
// Situation: main leaves by pthread_exit with thread-specific data whose destructors allocate and set the key
//   again, while another thread works on.
// Holds: the destructors run, and the process ends with status 0 when the last thread ends.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_key_t key;
static __thread char* own = NULL;
static void end(void* block) {
    char* other = malloc(300);
    free(block);
    own = realloc(own, 500);
    free(other);
    static int rounds = 0;
    if (++rounds < 3) pthread_setspecific(key, malloc(40));
}
static void* work(void* nothing) {
    usleep(20000);
    for (int i = 0; i < 2000; ++i) free(malloc((size_t)(i % 300)));
    puts("ok");
    return nothing;
}
int main(void) {
    pthread_t thread;
    pthread_key_create(&key, end);
    own = malloc(100);
    pthread_setspecific(key, malloc(64));
    if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
    pthread_detach(thread);
    pthread_exit(NULL);
}
