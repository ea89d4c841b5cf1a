/* SPDX-License-Identifier: BSL-1.0
 *
 *   semantics [SEED [never_again]]     never_again: accepts a malloc that never reuses a freed block
 *
 * Tests the promises of C and POSIX on the malloc that it finds. Exits with 0, or prints the broken promise. It is
 * independent of the laboratory: it runs by itself and under every variant of a trial. Also compiled as C++. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = 0;

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
            failures++;                                                           \
        }                                                                         \
    } while (0)

static uint64_t next_random(uint64_t* state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static int is_filled(const unsigned char* block, size_t bytes, unsigned char with) {
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != with) return 0;
    return 1;
}

static int is_aligned(const void* block, size_t to) { return (uintptr_t)block % to == 0; }

/* 16, and 8 in a 32-bit program. */
static const size_t usual_alignment = 2 * sizeof(void*);

/* Out of the compiler's sight, so that nothing is optimised away. */
static void* volatile sink;

static void sizes_and_alignment(void) {
    for (size_t bytes = 0; bytes <= 70000; bytes += bytes < 1100 ? 1 : 977) {
        unsigned char* block = (unsigned char*)malloc(bytes);
        sink = block;
        CHECK(block != NULL);
        CHECK(is_aligned(block, bytes >= 9 ? usual_alignment : 8));
        CHECK(malloc_usable_size(block) >= bytes);
        memset(block, 0x5a, malloc_usable_size(block));
        free(block);
    }
    CHECK(malloc_usable_size(NULL) == 0);
    free(NULL);
}

static void zeroed_memory_is_zero(void) {
    for (size_t bytes = 1; bytes <= 70000; bytes = bytes * 5 / 4 + 1) {
        for (int round = 0; round < 3; round++) {
            unsigned char* block = (unsigned char*)calloc(bytes, 1);
            sink = block;
            CHECK(block != NULL && is_filled(block, bytes, 0));
            memset(block, 0xff, bytes);
            free(block);
        }
    }
    void* empty = calloc(0, 8);
    sink = empty;
    free(empty);
}

static void overflow_is_refused(void) {
    volatile size_t half = SIZE_MAX / 2 + 1, too_much = SIZE_MAX - 100;
    errno = 0;
    sink = calloc(half, 2);
    CHECK(sink == NULL && errno == ENOMEM);
    errno = 0;
    sink = reallocarray(NULL, half, 2);
    CHECK(sink == NULL && errno == ENOMEM);
    errno = 0;
    sink = malloc(too_much);
    CHECK(sink == NULL && errno == ENOMEM);
    void* volatile kept = malloc(100);
    memset(kept, 7, 100);
    errno = 0;
    sink = realloc(kept, too_much);
    CHECK(sink == NULL && errno == ENOMEM && is_filled((unsigned char*)kept, 100, 7));
    free(kept);
}

static void freeing_keeps_errno(void) {
    void* small = malloc(64);
    void* large = malloc(4 << 20);
    sink = small;
    sink = large;
    errno = 77;
    free(small);
    free(large);
    CHECK(errno == 77);
}

static void reallocation_keeps_the_content(void) {
    static const size_t sizes[] = {1, 8, 9, 24, 100, 1000, 4096, 30000, 32768, 32769, 100000, 400000};
    const size_t count = sizeof sizes / sizeof *sizes;
    for (size_t from = 0; from < count; from++) {
        for (size_t to = 0; to < count; to++) {
            unsigned char* block = (unsigned char*)malloc(sizes[from]);
            memset(block, 0x3c, sizes[from]);
            block = (unsigned char*)realloc(block, sizes[to]);
            const size_t common = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
            CHECK(block != NULL && is_filled(block, common, 0x3c));
            CHECK(malloc_usable_size(block) >= sizes[to] && is_aligned(block, sizes[to] >= 9 ? usual_alignment : 8));
            memset(block, 0x3d, sizes[to]);
            free(block);
        }
    }
    void* made = realloc(NULL, 50);
    CHECK(made != NULL);
    sink = realloc(made, 0);
    CHECK(sink == NULL);
}

static void alignments_are_kept(void) {
    for (size_t alignment = 8; alignment <= 65536; alignment *= 2) {
        for (size_t bytes = 1; bytes <= 40000; bytes = bytes * 3 + 1) {
            void* block = NULL;
            CHECK(posix_memalign(&block, alignment, bytes) == 0);
            CHECK(is_aligned(block, alignment) && malloc_usable_size(block) >= bytes);
            memset(block, 1, bytes);
            block = realloc(block, bytes + 10);
            CHECK(is_filled((unsigned char*)block, bytes, 1));
            free(block);
            block = aligned_alloc(alignment, bytes);
            CHECK(is_aligned(block, alignment));
            free(block);
            block = memalign(alignment, bytes);
            CHECK(is_aligned(block, alignment));
            free(block);
        }
    }
    void* untouched = &failures;
    CHECK(posix_memalign(&untouched, 24, 10) == EINVAL && untouched == &failures);
    CHECK(posix_memalign(&untouched, 2, 10) == EINVAL && untouched == &failures);
    void* page = valloc(10);
    CHECK(is_aligned(page, 4096));
    free(page);
}

/* Every live block keeps what was written to it: no two overlap. */
static void blocks_never_overlap(uint64_t seed) {
    enum { count = 4000 };
    static unsigned char* blocks[count];
    static size_t sizes[count];
    uint64_t state = seed;
    for (int step = 0; step < 60000; step++) {
        const size_t i = next_random(&state) % count;
        if (blocks[i] != NULL) {
            CHECK(is_filled(blocks[i], sizes[i], (unsigned char)i));
            if (next_random(&state) % 4 == 0) {
                const size_t bytes = next_random(&state) % 3000 + 1;
                blocks[i] = (unsigned char*)realloc(blocks[i], bytes);
                CHECK(is_filled(blocks[i], bytes < sizes[i] ? bytes : sizes[i], (unsigned char)i));
                sizes[i] = bytes;
                memset(blocks[i], (int)i, bytes);
                continue;
            }
            free(blocks[i]);
        }
        sizes[i] = next_random(&state) % (next_random(&state) % 16 == 0 ? 50000 : 600) + 1;
        blocks[i] = (unsigned char*)malloc(sizes[i]);
        memset(blocks[i], (int)i, sizes[i]);
    }
    for (int i = 0; i < count; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

/* A ring of threads: each allocates, fills, and hands to the next, which checks and frees. */
enum { threads = 4, handed = 3000 };
static struct {
    pthread_mutex_t lock;
    unsigned char* blocks[handed];
    int given, taken;
} rings[threads];

static void* ring_member(void* argument) {
    const int me = (int)(intptr_t)argument;
    const int before = (me + threads - 1) % threads;
    uint64_t state = (uint64_t)me + 1;
    int given = 0, taken = 0;
    while (given < handed || taken < handed) {
        if (given < handed) {
            const size_t bytes = next_random(&state) % 500 + 9;
            unsigned char* block = (unsigned char*)malloc(bytes);
            memset(block, me, bytes);
            memcpy(block, &bytes, sizeof bytes);
            pthread_mutex_lock(&rings[me].lock);
            rings[me].blocks[rings[me].given++] = block;
            pthread_mutex_unlock(&rings[me].lock);
            given++;
        }
        pthread_mutex_lock(&rings[before].lock);
        unsigned char* block = NULL;
        if (rings[before].taken < rings[before].given) block = rings[before].blocks[rings[before].taken++];
        pthread_mutex_unlock(&rings[before].lock);
        if (block != NULL) {
            size_t bytes;
            memcpy(&bytes, block, sizeof bytes);
            if (taken % 3 == 0) block = (unsigned char*)realloc(block, bytes + 100);
            if (!is_filled(block + sizeof bytes, bytes - sizeof bytes, (unsigned char)before)) return &failures;
            free(block);
            taken++;
        }
    }
    return NULL;
}

static void threads_free_what_others_allocated(void) {
    pthread_t ids[threads];
    for (int i = 0; i < threads; i++) {
        pthread_mutex_init(&rings[i].lock, NULL);
        rings[i].given = rings[i].taken = 0;
    }
    for (intptr_t i = 0; i < threads; i++) CHECK(pthread_create(&ids[i], NULL, &ring_member, (void*)i) == 0);
    for (int i = 0; i < threads; i++) {
        void* result = &failures;
        pthread_join(ids[i], &result);
        CHECK(result == NULL);
    }
}

static volatile int forking;

static void* busy_thread(void* argument) {
    uint64_t state = (uint64_t)(intptr_t)argument;
    while (forking) {
        void* block = malloc(next_random(&state) % 2000);
        sink = block;
        free(block);
    }
    return NULL;
}

static void children_of_fork_go_on_allocating(void) {
    pthread_t busy[2];
    unsigned char* inherited = (unsigned char*)malloc(333);
    memset(inherited, 9, 333);
    forking = 1;
    for (intptr_t i = 0; i < 2; i++) pthread_create(&busy[i], NULL, &busy_thread, (void*)(i + 1));
    for (int i = 0; i < 40; i++) {
        const pid_t child = fork();
        if (child == 0) {
            const int before = failures;
            CHECK(is_filled(inherited, 333, 9));
            free(inherited);
            for (int k = 0; k < 500; k++) {
                void* block = malloc((size_t)k * 7 + 1);
                memset(block, k, (size_t)k * 7 + 1);
                sink = block;
                if (k % 2 == 0) free(block);
            }
            pthread_t inner;
            forking = 0;
            pthread_create(&inner, NULL, &busy_thread, (void*)3);
            pthread_join(inner, NULL);
            _exit(failures != before);
        }
        int status = 1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    forking = 0;
    for (int i = 0; i < 2; i++) pthread_join(busy[i], NULL);
    CHECK(is_filled(inherited, 333, 9));
    free(inherited);
}

static void running_out_of_memory_is_null_with_errno(int uses_blocks_again) {
    const pid_t child = fork();
    if (child == 0) {
        /* Enough to go on from, whatever is there already. Of data, because a limit of addresses forgives what was
         * reserved before it. */
        unsigned long pages = 0;
        FILE* statm = fopen("/proc/self/statm", "r");
        if (statm == NULL || fscanf(statm, "%*u %*u %*u %*u %*u %lu", &pages) != 1) _exit(2);
        fclose(statm);
        const rlim_t limit = (rlim_t)pages * 4096 + (64 << 20);
        const struct rlimit limits = {limit, limit};
        if (setrlimit(RLIMIT_DATA, &limits) != 0) _exit(3);
        void** chain = NULL;
        errno = 0;
        size_t bytes = 24;
        for (;;) {
            void** block = (void**)malloc(bytes);
            if (block == NULL) break;
            *block = chain;
            chain = block;
            bytes = bytes * 5 / 4 % 30000 + 24;
        }
        const int right = errno == ENOMEM;
        while (chain != NULL) {
            void** next = (void**)*chain;
            free(chain);
            chain = next;
        }
        void* again = malloc(1000);
        _exit(right && (again != NULL || !uses_blocks_again) ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
}

int main(int argc, char** argv) {
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    sizes_and_alignment();
    zeroed_memory_is_zero();
    overflow_is_refused();
    freeing_keeps_errno();
    reallocation_keeps_the_content();
    alignments_are_kept();
    blocks_never_overlap(seed);
    threads_free_what_others_allocated();
    children_of_fork_go_on_allocating();
    running_out_of_memory_is_null_with_errno(argc <= 2);
    return failures != 0;
}
