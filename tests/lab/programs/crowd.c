/* SPDX-License-Identifier: BSL-1.0
 * Threads that allocate and free blocks of their own. Usage: crowd NUMBER together|in_turn|detached
 * More than five at once fill the C library's store of ended threads' stacks, so that it frees what it had for some. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static sem_t ended;

static void* work(void* nothing) {
    enum { places = 64, steps = 300 };
    void* blocks[places] = {NULL};
    unsigned random = 7;
    for (int i = 0; i < steps; ++i) {
        random = random * 1664525 + 1013904223;
        const unsigned at = random >> 26;
        free(blocks[at]);
        blocks[at] = malloc(1 + (random >> 12) % 3000);
    }
    for (int i = 0; i < places; ++i) free(blocks[i]);
    sem_post(&ended);
    return nothing;
}

int main(int count, char** words) {
    enum { threads_max = 1000 };
    static pthread_t threads[threads_max];
    const int number = count > 1 ? atoi(words[1]) : 5;
    const char* const how = count > 2 ? words[2] : "together";
    const int is_detached = strcmp(how, "detached") == 0, in_turn = strcmp(how, "in_turn") == 0;
    if (number > threads_max || sem_init(&ended, 0, 0) != 0) return 2;
    for (int i = 0; i < number; ++i) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
        if (is_detached) pthread_detach(threads[i]);
        if (in_turn) pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < number && is_detached; ++i) sem_wait(&ended);
    for (int i = 0; i < number && !is_detached && !in_turn; ++i) pthread_join(threads[i], NULL);
    return 0;
}
