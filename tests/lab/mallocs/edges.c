/* SPDX-License-Identifier: BSL-1.0
 * Asks malloc's family for what is at its edges. Ends with 0, or says what did not hold.
 *
 *   edges family    sizes that no system has, errno, zero bytes, alignments up to 16 MiB, realloc of everything to
 *                   everything, sized frees, trim and mallinfo2
 *   edges threads   200 threads at once, each frees what another one allocated
 *   edges exit      exit handlers, destructors and thread-specific data allocate and free; prints the same in each run
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Newer than the C library of today. */
extern void free_sized(void* p, size_t bytes) __attribute__((weak));
extern void free_aligned_sized(void* p, size_t alignment, size_t bytes) __attribute__((weak));

static int failures = 0;

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                   \
        }                                                                         \
    } while (0)

/* Out of the compiler's sight. */
static void* (*volatile allocate)(size_t) = &malloc;
static void* (*volatile allocate_zeroed)(size_t, size_t) = &calloc;
static void* (*volatile allocate_aligned)(size_t, size_t) = &memalign;
static void* (*volatile reallocate)(void*, size_t) = &realloc;
static void* (*volatile reallocate_array)(void*, size_t, size_t) = &reallocarray;

static int is_filled(const unsigned char* block, size_t bytes, unsigned char with) {
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != with) return 0;
    return 1;
}
static int is_aligned(const void* block, size_t to) { return (uintptr_t)block % to == 0; }

#define CHECK_REFUSED(call)                       \
    do {                                          \
        errno = 0;                                \
        CHECK((call) == NULL && errno == ENOMEM); \
    } while (0)

static void impossible_sizes(void) {
    static const size_t sizes[] = {SIZE_MAX,     SIZE_MAX - 1, SIZE_MAX - 15,    SIZE_MAX - 4095, SIZE_MAX / 2 + 1,
                                   SIZE_MAX / 2, SIZE_MAX / 4, SIZE_MAX / 8 + 1, (size_t)1 << 48};
    unsigned char* const kept = allocate(100);
    memset(kept, 7, 100);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK_REFUSED(allocate(sizes[i]));
        CHECK_REFUSED(allocate_zeroed(sizes[i], 1));
        CHECK_REFUSED(allocate_zeroed(sizes[i] / 2 + 1, 3));
        CHECK_REFUSED(reallocate(kept, sizes[i]));
        CHECK_REFUSED(reallocate_array(kept, sizes[i] / 2 + 1, 3));
        CHECK_REFUSED(allocate_aligned(64, sizes[i]));
        CHECK_REFUSED(allocate_aligned(1 << 20, sizes[i]));
        CHECK_REFUSED(valloc(sizes[i]));
        CHECK_REFUSED(pvalloc(sizes[i]));
        void* untouched = &failures;
        CHECK(posix_memalign(&untouched, 4096, sizes[i]) == ENOMEM && untouched == &failures);
    }
    CHECK_REFUSED(allocate_aligned((size_t)1 << 47, 100));
    CHECK(is_filled(kept, 100, 7));
    free(kept);
}

static void success_keeps_errno(void) {
    static const size_t sizes[] = {0, 1, 100, 5000, 200000, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        errno = 77;
        void* block = allocate(sizes[i]);
        void* zeroed = allocate_zeroed(sizes[i], 1);
        void* aligned = NULL;
        CHECK(posix_memalign(&aligned, 4096, sizes[i]) == 0);
        block = reallocate(block, sizes[i] + 5000);
        CHECK(block != NULL && errno == 77);
        free(block);
        free(zeroed);
        free(aligned);
        CHECK(errno == 77);
    }
}

static void zero_bytes(void) {
    void* blocks[7] = {allocate(0),
                       allocate(0),
                       allocate_zeroed(0, 8),
                       allocate_zeroed(8, 0),
                       allocate_aligned(4096, 0),
                       aligned_alloc(64, 0),
                       reallocate(NULL, 0)};
    for (size_t i = 0; i < 7; i++) {
        CHECK(blocks[i] != NULL);
        for (size_t j = 0; j < i; j++) CHECK(blocks[i] != blocks[j]);
    }
    for (size_t i = 0; i < 7; i++) free(blocks[i]);
    CHECK(reallocate(allocate(10), 0) == NULL);
}

static void all_alignments(void) {
    for (size_t alignment = 1; alignment <= 16 << 20; alignment *= 2) {
        for (size_t bytes = 1; bytes <= 3 << 20; bytes = bytes * 13 + 5) {
            unsigned char* const block = allocate_aligned(alignment, bytes);
            unsigned char* const neighbour = allocate_aligned(alignment, bytes);
            CHECK(block != NULL && is_aligned(block, alignment) && malloc_usable_size(block) >= bytes);
            CHECK(neighbour != NULL && is_aligned(neighbour, alignment));
            memset(block, 0x11, bytes);
            memset(neighbour, 0x22, bytes);
            CHECK(is_filled(block, bytes, 0x11));
            free(block);
            CHECK(is_filled(neighbour, bytes, 0x22));
            free(neighbour);
        }
    }
}

/* Every way to a block, every way to another size. */
static void everything_to_everything(void) {
    static const size_t sizes[] = {1, 17, 40, 128, 1000, 4096, 5000, 33000, 140000, 1100000};
    enum { count = sizeof sizes / sizeof *sizes };
    for (int way = 0; way < 5; way++) {
        for (size_t from = 0; from < count; from++) {
            for (size_t to = 0; to < count; to++) {
                const size_t bytes = sizes[from];
                unsigned char* block = way == 0   ? allocate(bytes)
                                       : way == 1 ? allocate_zeroed(1, bytes)
                                       : way == 2 ? allocate_aligned(32, bytes)
                                       : way == 3 ? allocate_aligned(8192, bytes)
                                                  : reallocate(allocate(24), bytes);
                CHECK(block != NULL && (way != 1 || is_filled(block, bytes, 0)));
                memset(block, 0x3c, bytes);
                block = reallocate(block, sizes[to]);
                const size_t common = bytes < sizes[to] ? bytes : sizes[to];
                CHECK(block != NULL && is_filled(block, common, 0x3c));
                CHECK(malloc_usable_size(block) >= sizes[to]);
                memset(block, 0x3d, malloc_usable_size(block));
                free(block);
            }
        }
    }
}

static void sized_frees(void) {
    if (free_sized == NULL || free_aligned_sized == NULL) return;
    for (size_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) {
        free_sized(allocate(bytes), bytes);
        free_aligned_sized(aligned_alloc(256, bytes), 256, bytes);
    }
    free_sized(NULL, 0);
    free_aligned_sized(NULL, 64, 64);
}

static void usage_is_told(void) {
    enum { count = 2000, bytes = 300 };
    static void* blocks[count];
    const struct mallinfo2 before = mallinfo2();
    for (size_t i = 0; i < count; i++) blocks[i] = allocate(bytes);
    const struct mallinfo2 full = mallinfo2();
    CHECK(full.uordblks >= before.uordblks + count * bytes * 9 / 10);
    CHECK(full.uordblks <= before.uordblks + count * bytes * 4);
    for (size_t i = 0; i < count; i++) free(blocks[i]);
    malloc_trim(0);
    const struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks < full.uordblks && after.uordblks <= after.arena + after.hblkhd);
    void* const again = allocate(bytes);
    CHECK(again != NULL);
    free(again);
}

/* ── threads ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

enum { threads = 200, handed = 50, rounds = 20 };
static unsigned char* shelf[threads][handed];
static pthread_barrier_t together;

static void* churn(void* argument) {
    const size_t me = (size_t)(uintptr_t)argument, other = (me + 67) % threads;
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < handed; i++) {
            const size_t bytes = 8 + (me * 31 + i * 97 + round * 13) % 700;
            unsigned char* const block = allocate(bytes);
            memset(block, (int)me, bytes);
            memcpy(block, &bytes, sizeof bytes);
            shelf[me][i] = i % 3 == 0 ? reallocate(block, bytes + 50) : block;
        }
        pthread_barrier_wait(&together);
        for (size_t i = 0; i < handed; i++) {
            size_t bytes;
            memcpy(&bytes, shelf[other][i], sizeof bytes);
            CHECK(is_filled(shelf[other][i] + sizeof bytes, bytes - sizeof bytes, (unsigned char)other));
            free(shelf[other][i]);
        }
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static void many_threads(void) {
    pthread_t ids[threads];
    pthread_attr_t small_stacks;
    pthread_attr_init(&small_stacks);
    pthread_attr_setstacksize(&small_stacks, 128 << 10);
    pthread_barrier_init(&together, NULL, threads);
    for (size_t i = 0; i < threads; i++)
        if (pthread_create(ids + i, &small_stacks, &churn, (void*)(uintptr_t)i) != 0) _exit(3);
    for (size_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
}

/* ── the end of the process ──────────────────────────────────────────────────────────────────────────────────────── */

static char* kept_to_the_end[100];

static void allocate_some_more(const char* who) {
    char* const text = allocate(300);
    snprintf(text, 300, "%s", who);
    for (size_t i = 0; i < 100; i++) {
        kept_to_the_end[i] = reallocate(kept_to_the_end[i], i * 17 + 1);
        kept_to_the_end[i][i * 17] = 'x';
    }
    puts(text);
    fflush(stdout);
    free(text);
}
static void first_handler(void) { allocate_some_more("the handler that was registered first"); }
static void last_handler(void) { allocate_some_more("the handler that was registered last"); }
static __attribute__((destructor)) void destructor(void) {
    if (kept_to_the_end[0] == NULL) return;
    allocate_some_more("a destructor");
    for (size_t i = 0; i < 100; i++) free(kept_to_the_end[i]);
}

static void* churn_to_the_end(void* argument) {
    for (;;) free(allocate(100));
    return argument;
}

static void leave_by_exit(void) {
    pthread_t busy;
    atexit(&first_handler);
    atexit(&last_handler);
    if (pthread_create(&busy, NULL, &churn_to_the_end, NULL) != 0) _exit(3);
    allocate_some_more("main");
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    alarm(200);
    if (strcmp(argv[1], "family") == 0) {
        impossible_sizes();
        success_keeps_errno();
        zero_bytes();
        all_alignments();
        everything_to_everything();
        sized_frees();
        usage_is_told();
    } else if (strcmp(argv[1], "threads") == 0) {
        many_threads();
    } else if (strcmp(argv[1], "exit") == 0) {
        leave_by_exit();
    } else {
        return 2;
    }
    return failures != 0;
}
