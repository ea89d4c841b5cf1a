/* SPDX-License-Identifier: BSL-1.0
 * millpond-player SCRIPT: makes the calls of a script (call_script.h), one after the other, to the malloc of this
 * process, so that a capture of it tells where this malloc puts the program's objects, and what it accesses itself.
 *
 *   script ─▶ call ─▶ millpond_played_call() ─▶ malloc, realloc, operator new, … ─▶ slots
 *                     └ the mark: what comes next is the program's call, and no start of a thread or library
 *
 * Each thread of the script is a thread here, for a malloc may keep something for each; only the one whose turn it is
 * runs. The program does nothing else with the malloc: it is C, so that no library of C++ takes memory before the first
 * call, and what it needs itself is mapped far away. The blocks are not written to. Functions that the malloc lacks,
 * such as operators of C++, fall back on malloc, as those of libstdc++ do.
 * Exit status: 0 done · 2 usage · 3 no script · 4 no memory, no thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/layout/call_script.h"
#include "lab/references/heap_functions.h"

/* ---- the functions of the malloc ---- */

#define FUNCTION(name, shape) extern void name(void) __attribute__((weak));
MILLPOND_HEAP_FUNCTIONS(FUNCTION)
#undef FUNCTION

__attribute__((noinline, visibility("default"))) void millpond_played_call(void) { __asm__ volatile("" ::: "memory"); }

typedef void (*any_function)(void);

/* What a free takes behind the block. */
enum free_words { no_words, size_word, alignment_word, size_and_alignment, alignment_and_size };

struct heap_function {
    any_function call; /* null: not here */
    const char* name;
    enum millpond_heap_shape shape;
    enum free_words words; /* of a free */
};

#define FUNCTION(name, shape) {name, #name, millpond_shape_##shape, no_words},
static struct heap_function functions[] = {{NULL, "", millpond_shape_none, no_words},
                                           MILLPOND_HEAP_FUNCTIONS(FUNCTION)};
#undef FUNCTION
enum { function_count = sizeof functions / sizeof functions[0] };

static enum free_words words_of_free(const char* name) {
    if (strcmp(name, "free_sized") == 0) return size_word;
    if (strcmp(name, "free_aligned_sized") == 0) return alignment_and_size;
    if (strncmp(name, "_Zd", 3) != 0)
        return strcmp(name, "millpond_pool_deallocate") == 0 ? size_and_alignment : no_words;
    const int has_size = strncmp(name + 4, "Pvm", 3) == 0;
    if (strstr(name, "St11align_val_t") == NULL) return has_size ? size_word : no_words;
    return has_size ? size_and_alignment : alignment_word;
}

static void settle_functions(void) {
    for (int i = 1; i < function_count; ++i)
        if (functions[i].shape == millpond_shape_free) functions[i].words = words_of_free(functions[i].name);
}

static const char nothrow[1] = {0}; /* std::nothrow, of which only the address matters */
enum { default_alignment = 16 };

static void* allocate(const struct heap_function* f, size_t bytes, size_t alignment, unsigned pool) {
    void* result = NULL;
    const int is_plain = f->call == NULL && alignment <= default_alignment;
    switch (f->shape) {
        case millpond_shape_calloc:
            return ((void* (*)(size_t, size_t))f->call)(1, bytes);
        case millpond_shape_page_aligned:
            if (f->call != NULL) return ((void* (*)(size_t))f->call)(bytes);
            break;
        case millpond_shape_new_aligned:
            if (f->call != NULL)
                return ((void* (*)(size_t, size_t, const void*, unsigned))f->call)(bytes, alignment, nothrow, pool);
            break;
        case millpond_shape_memalign:
            if (f->call != NULL) return ((void* (*)(size_t, size_t))f->call)(alignment, bytes);
            break;
        case millpond_shape_posix_memalign:
            return ((int (*)(void**, size_t, size_t))f->call)(&result, alignment, bytes) == 0 ? result : NULL;
        default:
            if (f->call != NULL) return ((void* (*)(size_t, const void*))f->call)(bytes, nothrow);
            break;
    }
    if (is_plain) return ((void* (*)(size_t))functions[millpond_function_malloc].call)(bytes);
    return ((int (*)(void**, size_t, size_t))functions[millpond_function_posix_memalign].call)(&result, alignment,
                                                                                               bytes) == 0
               ? result
               : NULL;
}

static void* reallocate(const struct heap_function* f, void* old, size_t bytes) {
    if (f->call != NULL && f->shape == millpond_shape_reallocarray)
        return ((void* (*)(void*, size_t, size_t))f->call)(old, 1, bytes);
    return ((void* (*)(void*, size_t))functions[millpond_function_realloc].call)(old, bytes);
}

static void release(const struct heap_function* f, void* old, size_t bytes, size_t alignment) {
    if (f->call == NULL) return ((void (*)(void*))functions[millpond_function_free].call)(old);
    switch (f->words) {
        case size_word:
            return ((void (*)(void*, size_t))f->call)(old, bytes);
        case alignment_word:
            return ((void (*)(void*, size_t))f->call)(old, alignment);
        case size_and_alignment:
            return ((void (*)(void*, size_t, size_t))f->call)(old, bytes, alignment);
        case alignment_and_size:
            return ((void (*)(void*, size_t, size_t))f->call)(old, alignment, bytes);
        case no_words:
            break;
    }
    ((void (*)(void*, const void*))f->call)(old, nothrow);
}

/* ---- the script ---- */

static const struct millpond_call_script* script;
static const struct millpond_call* calls;
static uint64_t* calls_left; /* by thread */
static void** slots;

__attribute__((noreturn, format(printf, 2, 3))) static void stop(int status, const char* format, ...) {
    char text[512];
    va_list words;
    va_start(words, format);
    const int length = vsnprintf(text, sizeof text, format, words);
    va_end(words);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1) < 0) {
    }
    _exit(status);
}

/* Memory of our own, away from where a malloc maps. */
static void* map_far(size_t bytes, int protection, int flags, int file) {
    static uintptr_t next = 0xC00000000u;
    void* const at = mmap((void*)next, bytes, protection, flags, file, 0);
    if (at == MAP_FAILED) stop(4, "millpond: the player cannot map %zu bytes: %s\n", bytes, strerror(errno));
    next += (bytes + 0x1FFFFFu) & ~(uintptr_t)0x1FFFFFu;
    return at;
}

static void open_script(const char* path) {
    struct stat about;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &about) != 0) stop(3, "millpond: cannot read %s: %s\n", path, strerror(errno));
    if (!S_ISREG(about.st_mode) || (size_t)about.st_size < sizeof *script)
        stop(3, "millpond: %s is no script of calls\n", path);
    script = map_far((size_t)about.st_size, PROT_READ, MAP_PRIVATE, file);
    const size_t bytes = sizeof *script + script->calls * sizeof calls[0] + script->threads * sizeof calls_left[0];
    if (script->magic != millpond_call_script_magic || script->version != millpond_call_script_version ||
        script->call_bytes != sizeof calls[0] || bytes != (size_t)about.st_size)
        stop(3, "millpond: %s is no script of calls, or one of another version of Millpond\n", path);
    calls = (const struct millpond_call*)(script + 1);
    close(file);
    slots =
        map_far((script->slots + (size_t)1) * sizeof slots[0], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    calls_left = map_far((script->threads + (size_t)1) * sizeof calls_left[0], PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1);
    memcpy(calls_left, calls + script->calls, script->threads * sizeof calls_left[0]);
    for (uint64_t i = 0; i < script->calls; ++i)
        if (calls[i].slot > script->slots || calls[i].thread >= script->threads || calls[i].function == 0 ||
            calls[i].function >= function_count || calls[i].pool >= script->pools)
            stop(3, "millpond: %s is damaged\n", path);
}

static void play(uint64_t at) {
    const struct millpond_call* const call = &calls[at];
    const struct heap_function* const f = &functions[call->function];
    const size_t alignment = call->alignment_log2 != 0 ? (size_t)1 << call->alignment_log2 : default_alignment;
    void* const old = (call->flags & millpond_call_has_old) != 0 ? slots[call->slot] : NULL;
    void* result = NULL;
    const int has_result = (call->flags & millpond_call_has_result) != 0;
    if (!millpond_is_played(call->function, has_result)) return;
    millpond_played_call();
    if (f->shape == millpond_shape_free)
        release(f, old, call->bytes, alignment);
    else if (!has_result) /* a realloc: what it does with a size of 0 differs, and the script knows what it did */
        ((void (*)(void*))functions[millpond_function_free].call)(old);
    else if (f->shape == millpond_shape_realloc || f->shape == millpond_shape_reallocarray)
        result = reallocate(f, old, call->bytes != 0 ? call->bytes : 1);
    else
        result = allocate(f, call->bytes, alignment, call->pool);
    if (has_result) {
        if (result == NULL)
            stop(4, "millpond: the malloc gave no memory at call %llu, of %llu bytes\n", (unsigned long long)at,
                 (unsigned long long)call->bytes);
        slots[call->slot] = result;
    } else if (old != NULL) {
        slots[call->slot] = NULL;
    }
}

/* ---- turns ---- */

static uint32_t turn; /* the thread that runs; script->threads: all is played */
static unsigned char* started;
static uint64_t next_call;
enum { stack_bytes = 1 << 20 };

static void give_turn(uint32_t to) {
    __atomic_store_n(&turn, to, __ATOMIC_RELEASE);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 0x7FFFFFFF, NULL, NULL, 0);
}

/* False when all is played. */
static int await_turn(uint32_t self) {
    for (uint32_t now; (now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != self;) {
        if (now == script->threads) return 0;
        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
    }
    return 1;
}

static void* run(void* number);

static void start(uint32_t thread) {
    pthread_t handle;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    started[thread] = 1;
    const int error = pthread_create(&handle, &attributes, run, (void*)(uintptr_t)thread);
    if (error != 0) stop(4, "millpond: the player cannot start a thread: %s\n", strerror(error));
}

static void* run(void* number) {
    const uint32_t self = (uint32_t)(uintptr_t)number;
    while (await_turn(self)) {
        for (; next_call < script->calls && calls[next_call].thread == self; ++next_call) {
            play(next_call);
            --calls_left[self];
        }
        if (next_call == script->calls) {
            give_turn(script->threads);
            return NULL;
        }
        const uint32_t next = calls[next_call].thread;
        if (!started[next]) start(next);
        const int is_last = calls_left[self] == 0 && self != 0;
        give_turn(next);
        if (is_last) return NULL; /* as the program's thread is taken to end */
    }
    return NULL;
}

int main(int argc, char** argv) {
    if (argc != 2) stop(2, "usage: millpond-player SCRIPT\n");
    settle_functions();
    open_script(argv[1]);
    if (script->calls == 0) return 0;
    started = map_far(script->threads + (size_t)1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    started[0] = 1;
    turn = 0;
    run((void*)0);
    _exit(0); /* what is alive stays so, as the script leaves it */
}
