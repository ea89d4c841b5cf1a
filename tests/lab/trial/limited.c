/* SPDX-License-Identifier: BSL-1.0
 * Limits itself and says how many bytes it gets from malloc until that fails.
 *
 *   limited KIND MIB BYTES THREADS     KIND: as, data        limits of MIB
 *                                            as_more         of addresses: as many as are in use, and MIB more
 *                                            as_late         of MIB, set by a thread when half of it is used
 *
 * BYTES: the size of each block; 0: sizes from 16 bytes to 20 KiB. Prints the KiB of all blocks, then frees them and
 * asks for one more of each size that it had. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { threads_max = 16 };

static const char* kind;
static size_t limit_bytes, block_bytes, thread_count;
static size_t got[threads_max];
static void** chains[threads_max];
static pthread_barrier_t together;

static void limit(int resource, size_t bytes) {
    const struct rlimit wanted = {bytes, RLIM_INFINITY};
    /* The raw call: no library may be needed to know of it. */
    if (syscall(SYS_prlimit64, 0, resource, &wanted, NULL) != 0) _exit(3);
}

static size_t addresses_in_use(void) {
    unsigned long pages = 0;
    FILE* statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%lu", &pages) != 1) _exit(2);
    fclose(statm);
    return pages * 4096;
}

static size_t size_of(size_t number) {
    if (block_bytes != 0) return block_bytes;
    const size_t spread = number * 2654435761u % 1000;
    return 16 + spread * spread * spread / 50000;
}

static void fill(size_t me, size_t bytes_max) {
    for (size_t number = 0; got[me] < bytes_max; ++number) {
        const size_t bytes = size_of(number);
        errno = 0;
        void** block = (void**)malloc(bytes);
        if (block == NULL) {
            if (errno != ENOMEM) _exit(4);
            return;
        }
        *block = chains[me];
        chains[me] = block;
        got[me] += bytes;
    }
}

static void* fill_in_thread(void* argument) {
    const size_t me = (size_t)(uintptr_t)argument;
    pthread_barrier_wait(&together);
    if (strcmp(kind, "as_late") == 0) {
        fill(me, limit_bytes / 2 / thread_count);
        pthread_barrier_wait(&together);
        if (me == 0) limit(RLIMIT_AS, limit_bytes);
        pthread_barrier_wait(&together);
    }
    fill(me, SIZE_MAX);
    return NULL;
}

int main(int argc, char** argv) {
    if (argc != 5) return 1;
    kind = argv[1];
    limit_bytes = (size_t)atol(argv[2]) << 20;
    block_bytes = (size_t)atol(argv[3]);
    thread_count = (size_t)atol(argv[4]);
    if (thread_count == 0 || thread_count > threads_max) return 1;
    alarm(100);
    pthread_barrier_init(&together, NULL, (unsigned)thread_count);
    if (strcmp(kind, "as") == 0) limit(RLIMIT_AS, limit_bytes);
    if (strcmp(kind, "data") == 0) limit(RLIMIT_DATA, limit_bytes);
    if (strcmp(kind, "as_more") == 0) limit(RLIMIT_AS, addresses_in_use() + limit_bytes);
    if (thread_count == 1) {
        fill_in_thread(NULL);
    } else {
        pthread_t ids[threads_max];
        pthread_attr_t small_stacks;
        pthread_attr_init(&small_stacks);
        pthread_attr_setstacksize(&small_stacks, 256 << 10);
        for (size_t i = 0; i < thread_count; ++i)
            if (pthread_create(ids + i, &small_stacks, &fill_in_thread, (void*)(uintptr_t)i) != 0) return 5;
        for (size_t i = 0; i < thread_count; ++i) pthread_join(ids[i], NULL);
    }
    size_t sum = 0;
    for (size_t i = 0; i < thread_count; ++i) {
        sum += got[i];
        while (chains[i] != NULL) {
            void** const next = (void**)*chains[i];
            free(chains[i]);
            chains[i] = next;
        }
    }
    for (size_t number = 0; number < 1000; ++number) {
        void* volatile again = malloc(size_of(number));
        if (again == NULL) return 6;
        free(again);
    }
    printf("%zu\n", sum >> 10);
    return 0;
}
