/* SPDX-License-Identifier: BSL-1.0
 * Limits its own address space, takes blocks until there are no more, frees them, and asks for one of half the limit.
 * Ends with 0 if it gets that block and can write to it.
 *
 *   reuse BYTES [THREADS] [kept]     blocks of BYTES; 0: of sizes from 16 bytes to 1 MiB in one mixture
 *                                    kept: 64 blocks of them stay, the first, the last and some between
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { limit_bytes = 400 << 20, threads_max = 8, blocks_max = 4 << 20 };

static size_t bytes_of_each;
static int thread_count = 1, is_kept = 0;
static void** blocks[threads_max];
static size_t counts[threads_max];
static pthread_barrier_t all_are_here, all_are_full;

static size_t next_size(unsigned* state) {
    if (bytes_of_each != 0) return bytes_of_each;
    *state = *state * 1103515245 + 12345;
    return (size_t)16 << (*state >> 16) % 17;
}

static void* fill_and_free(void* argument) {
    const int me = (int)(size_t)argument;
    unsigned state = 1 + (unsigned)me;
    void** const mine = blocks[me];
    size_t count = 0, failures = 0;
    pthread_barrier_wait(&all_are_here);
    while (count < blocks_max / (size_t)thread_count && failures < 20) {
        char* const block = malloc(next_size(&state));
        if (block == NULL) {
            ++failures;
            continue;
        }
        block[0] = 1;
        mine[count++] = block;
    }
    pthread_barrier_wait(&all_are_full);
    const size_t step = count / 64 + 1;
    for (size_t i = 0; i < count; ++i)
        if (!is_kept || (i % step != 0 && i != count - 1)) free(mine[i]);
    counts[me] = count;
    return NULL;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    bytes_of_each = strtoul(argv[1], NULL, 10);
    if (argc > 2) thread_count = atoi(argv[2]);
    if (argc > 3) is_kept = strcmp(argv[3], "kept") == 0;
    static void* room[blocks_max];
    for (int i = 0; i < thread_count; ++i) blocks[i] = room + (size_t)i * (blocks_max / (size_t)thread_count);
    pthread_barrier_init(&all_are_here, NULL, (unsigned)thread_count);
    pthread_barrier_init(&all_are_full, NULL, (unsigned)thread_count);
    pthread_t others[threads_max];
    /* Threads first: their stacks count as well. */
    const struct rlimit limit = {limit_bytes + (rlim_t)thread_count * (200 << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    for (int i = 1; i < thread_count; ++i)
        if (pthread_create(&others[i], NULL, &fill_and_free, (void*)(size_t)i) != 0) return 2;
    fill_and_free((void*)0);
    for (int i = 1; i < thread_count; ++i) pthread_join(others[i], NULL);
    char* const large = malloc(limit_bytes / 2);
    if (large != NULL) large[0] = large[limit_bytes / 2 - 1] = 1;
    printf("%zu blocks, then %d MiB %s\n", counts[0], (limit_bytes / 2) >> 20, large != NULL ? "given" : "refused");
    return large == NULL;
}
