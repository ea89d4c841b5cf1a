/* SPDX-License-Identifier: BSL-1.0
 * Threads share memory in ways that a malloc with caches for each thread may lose it by. Ends with 0 if what the
 * process holds stays within a bound, else says how much it held.
 *
 *   sharing handover    one thread allocates, another frees; 200 MiB go through, at most 1 MiB is on the way
 *   sharing threads     2000 threads, one after the other, each with blocks of many sizes, half of them freed by main
 *   sharing sizes       32 MiB of one size, freed, then of another
 *   sharing returned    64 MiB of small blocks, freed: most goes back
 *   sharing ends        destructors of thread-specific data allocate and free after everybody else's
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long held_kib(const char* name) {
    char line[256];
    long kib = -1;
    FILE* status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) sscanf(line + strlen(name), ": %ld", &kib);
    if (status != NULL) fclose(status);
    return kib;
}

static int within(const char* name, long mib) {
    const long kib = held_kib(name);
    if (kib >= 0 && kib <= mib << 10) return 0;
    fprintf(stderr, "%s is %ld KiB, more than %ld MiB\n", name, kib, mib);
    return 1;
}

enum { slots = 8192 };
static void* ring[slots];
static unsigned long written, read_so_far;

static void* consume(void* unused) {
    for (unsigned long i = 0; i < 2000000; ++i) {
        while (__atomic_load_n(&written, __ATOMIC_ACQUIRE) == i) usleep(100);
        free(ring[i % slots]);
        __atomic_store_n(&read_so_far, i + 1, __ATOMIC_RELEASE);
    }
    return unused;
}

static int handover(void) {
    pthread_t consumer;
    if (pthread_create(&consumer, NULL, &consume, NULL) != 0) return 2;
    for (unsigned long i = 0; i < 2000000; ++i) {
        while (i - __atomic_load_n(&read_so_far, __ATOMIC_ACQUIRE) == slots) usleep(100);
        ring[i % slots] = malloc(100);
        memset(ring[i % slots], 1, 100);
        __atomic_store_n(&written, i + 1, __ATOMIC_RELEASE);
    }
    pthread_join(consumer, NULL);
    return within("VmHWM", 24);
}

enum { left = 400 };
static void* some_blocks(void* unused) {
    (void)unused;
    void** blocks = malloc(left * sizeof(void*));
    for (size_t i = 0; i < left; ++i) {
        free(malloc(16 + i * 5));
        blocks[i] = malloc(16 + i * 5);
        memset(blocks[i], 1, 16 + i * 5);
    }
    for (size_t i = 0; i < left; i += 2) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
    return blocks;
}

static int many_threads(void) {
    for (int i = 0; i < 2000; ++i) {
        pthread_t one;
        void* result;
        if (pthread_create(&one, NULL, &some_blocks, NULL) != 0) return 2;
        pthread_join(one, &result);
        for (size_t j = 0; j < left; ++j) free(((void**)result)[j]);
        free(result);
    }
    return within("VmHWM", 32);
}

static void fill_and_free(size_t bytes, size_t total) {
    const size_t count = total / bytes;
    void** blocks = malloc(count * sizeof(void*));
    for (size_t i = 0; i < count; ++i) memset(blocks[i] = malloc(bytes), 1, bytes);
    for (size_t i = 0; i < count; ++i) free(blocks[i]);
    free(blocks);
}

static int sizes(void) {
    for (size_t bytes = 64; bytes < 20000; bytes = bytes * 5 / 2) fill_and_free(bytes, 32 << 20);
    return within("VmHWM", 64);
}

static int returned(void) {
    fill_and_free(100, 64 << 20);
    return within("VmRSS", 24);
}

static pthread_key_t keys[3];
static void at_end(void* block) {
    free(block);
    for (size_t i = 0; i < 50; ++i) free(malloc(10 + i * 20));
    void* const more = malloc(300);
    memset(more, 1, 300);
    static __thread int round;
    if (++round < 8)
        pthread_setspecific(keys[round % 3], more);
    else
        free(more);
}

static void* thread_with_data(void* unused) {
    for (int i = 0; i < 3; ++i) pthread_setspecific(keys[i], malloc(100));
    return unused;
}

static int ends(void) {
    for (int i = 0; i < 3; ++i) pthread_key_create(&keys[i], &at_end);
    for (int i = 0; i < 500; ++i) {
        pthread_t threads[2];
        for (int t = 0; t < 2; ++t)
            if (pthread_create(&threads[t], NULL, &thread_with_data, NULL) != 0) return 2;
        for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
    }
    return within("VmHWM", 24);
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    alarm(200);
    if (strcmp(argv[1], "handover") == 0) return handover();
    if (strcmp(argv[1], "threads") == 0) return many_threads();
    if (strcmp(argv[1], "sizes") == 0) return sizes();
    if (strcmp(argv[1], "returned") == 0) return returned();
    if (strcmp(argv[1], "ends") == 0) return ends();
    return 2;
}
