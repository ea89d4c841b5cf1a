/* SPDX-License-Identifier: BSL-1.0
 * player: makes the calls of a script (call_script.h) to the malloc of a process, instead of the process's program. A
 * capture of it shows where this malloc puts the program's objects, and what the malloc accesses itself.
 *
 *   __libc_start_main(main …)      the tool has mapped the player, and hands its main over instead of the program's
 *     ─▶ script ─▶ call ─▶ millpond_played_call() ─▶ malloc, realloc, operator new, … ─▶ slots
 *                          └ the mark: the next call is the program's, not a thread's start
 *
 * So the executable, the libraries, their variables and the break lie where they lie when the program itself runs on
 * that malloc: the dynamic linker does not know the player. The player is not a library and uses none: it makes system
 * calls itself, and keeps its tables next to itself, in a range that the malloc of a program of usual size does not
 * reach. Each thread of the script is a thread here, because a malloc may keep data for each; only one runs at a time.
 * The blocks are not written to. Functions that the malloc lacks, such as operators of C++, fall back on malloc, as
 * those of libstdc++ do. Freestanding C11. Ends with 0: done · 3 no script · 4 no memory, no thread. */
#include "lab/references/player/player_link.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/references/heap_functions.h"
#include "lab/references/player/call_script.h"

static void player_main(void);
static void millpond_played_call(void);

__attribute__((section(".player_link"), used)) static struct millpond_player_link player_link = {
    .magic = 0x524559414C50504DULL,
    .main = (uintptr_t)player_main,
    .mark = (uintptr_t)millpond_played_call,
};

__attribute__((noinline)) static void millpond_played_call(void) { __asm__ volatile("" ::: "memory"); }

/* ---- the system ---- */

static long ask(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static size_t length_of(const char* text) {
    size_t length = 0;
    while (text[length] != 0) ++length;
    return length;
}

__attribute__((noreturn)) static void end(int status) {
    for (;;) ask(__NR_exit_group, status, 0, 0, 0, 0, 0);
}

/* Says "millpond: the player: WHAT NUMBER". */
__attribute__((noreturn)) static void stop(int status, const char* what, uint64_t number) {
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\n';
    do digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    static const char first[] = "millpond: the player: ";
    ask(__NR_write, 2, (long)first, sizeof first - 1, 0, 0, 0);
    ask(__NR_write, 2, (long)what, (long)length_of(what), 0, 0, 0);
    ask(__NR_write, 2, (long)(digits + at), (long)(sizeof digits - at), 0, 0, 0);
    end(status);
}

/* Memory of our own, behind the player. */
static void* map_beside(size_t bytes) {
    enum { read_write = 3, private_anonymous_fixed = 0x2 | 0x20 | 0x10 };
    static uintptr_t next = 0x50000000u + (1u << 20);
    const size_t whole = (bytes + 4095) & ~(size_t)4095;
    const long at = ask(__NR_mmap, (long)next, (long)whole, read_write, private_anonymous_fixed, -1, 0);
    if (at < 0 && at > -4096) stop(4, "no memory for tables of so many bytes: ", bytes);
    next += whole;
    return (void*)at;
}

/* ---- the functions of the malloc ---- */

typedef void (*any_function)(void);
_Static_assert(millpond_function_end <= sizeof player_link.functions / sizeof player_link.functions[0], "too many");

/* The arguments of a free after the block. */
enum free_words { no_words, size_word, alignment_word, size_and_alignment, alignment_and_size };

struct heap_function {
    const char* name;
    enum millpond_heap_shape shape;
    any_function call;     /* null: not here */
    enum free_words words; /* of a free */
};

#define FUNCTION(name, shape) {#name, millpond_shape_##shape, NULL, no_words},
static struct heap_function functions[] = {{"", millpond_shape_none, NULL, no_words},
                                           MILLPOND_HEAP_FUNCTIONS(FUNCTION)};
#undef FUNCTION

static int begins(const char* text, const char* with) {
    while (*with != 0)
        if (*text++ != *with++) return 0;
    return 1;
}

static int has(const char* text, const char* part) {
    for (; *text != 0; ++text)
        if (begins(text, part)) return 1;
    return 0;
}

static enum free_words words_of_free(const char* name) {
    if (begins(name, "free_sized")) return size_word;
    if (begins(name, "free_aligned_sized")) return alignment_and_size;
    if (!begins(name, "_Zd")) return no_words;
    const int has_size = begins(name + 4, "Pvm");
    if (!has(name, "St11align_val_t")) return has_size ? size_word : no_words;
    return has_size ? size_and_alignment : alignment_word;
}

/* Returns the function that the dynamic linker finds, or null. */
static void* found_by_linker(const char* name) {
    return player_link.dlsym == 0 ? NULL : ((void* (*)(void*, const char*))player_link.dlsym)(NULL, name);
}

/* The dynamic linker chooses among several of one name. Ask it only for names that exist: otherwise it would allocate
 * a message. */
static void find_functions(void) {
    for (unsigned i = 1; i < millpond_function_end; ++i) {
        struct heap_function* const f = &functions[i];
        if (f->shape == millpond_shape_free) f->words = words_of_free(f->name);
        if (player_link.functions[i] == 0) continue;
        void* const found = found_by_linker(f->name);
        f->call = (any_function)(found != NULL ? (uintptr_t)found : player_link.functions[i]);
    }
    if (functions[millpond_function_malloc].call == NULL || functions[millpond_function_free].call == NULL ||
        functions[millpond_function_realloc].call == NULL)
        stop(4, "the program has no malloc, free or realloc: ", 0);
}

static const char nothrow[1] = {0}; /* std::nothrow, of which only the address matters */
enum { default_alignment = 16 };

static void* allocate_aligned(size_t bytes, size_t alignment) {
    void* result = NULL;
    const any_function call = functions[millpond_function_posix_memalign].call;
    if (call == NULL) return NULL;
    return ((int (*)(void**, size_t, size_t))call)(&result, alignment, bytes) == 0 ? result : NULL;
}

static void* allocate_plain(size_t bytes, size_t alignment) {
    if (alignment > default_alignment) return allocate_aligned(bytes, alignment);
    return ((void* (*)(size_t))functions[millpond_function_malloc].call)(bytes);
}

static void* allocate(const struct heap_function* f, size_t bytes, size_t alignment) {
    if (f->call == NULL) return allocate_plain(bytes, alignment);
    switch (f->shape) {
        case millpond_shape_calloc:
            return ((void* (*)(size_t, size_t))f->call)(1, bytes);
        case millpond_shape_new_aligned:
            return ((void* (*)(size_t, size_t, const void*))f->call)(bytes, alignment, nothrow);
        case millpond_shape_memalign:
            return ((void* (*)(size_t, size_t))f->call)(alignment, bytes);
        case millpond_shape_posix_memalign:
            return allocate_aligned(bytes, alignment);
        default:
            return ((void* (*)(size_t, const void*))f->call)(bytes, nothrow);
    }
}

static void* reallocate(const struct heap_function* f, void* old, size_t bytes) {
    if (f->call != NULL && f->shape == millpond_shape_reallocarray)
        return ((void* (*)(void*, size_t, size_t))f->call)(old, 1, bytes);
    return ((void* (*)(void*, size_t))functions[millpond_function_realloc].call)(old, bytes);
}

static void release_plain(void* old) { ((void (*)(void*))functions[millpond_function_free].call)(old); }

static void release(const struct heap_function* f, void* old, size_t bytes, size_t alignment) {
    typedef void (*free_of_two)(void*, size_t);
    typedef void (*free_of_three)(void*, size_t, size_t);
    if (f->call == NULL)
        release_plain(old);
    else if (f->words == size_word)
        ((free_of_two)f->call)(old, bytes);
    else if (f->words == alignment_word)
        ((free_of_two)f->call)(old, alignment);
    else if (f->words == size_and_alignment)
        ((free_of_three)f->call)(old, bytes, alignment);
    else if (f->words == alignment_and_size)
        ((free_of_three)f->call)(old, alignment, bytes);
    else
        ((void (*)(void*, const void*))f->call)(old, nothrow);
}

/* ---- the script ---- */

enum { window_calls = 4096 };
static struct millpond_call_script script;
static struct millpond_call window[window_calls];
static uint64_t window_first, window_count; /* which calls are in the window */
static int script_file;
static void** slots;

static void read_at(uint64_t offset, void* to, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const long got =
            ask(__NR_pread64, script_file, (long)((char*)to + done), (long)(bytes - done), (long)(offset + done), 0, 0);
        if (got <= 0) stop(3, "the script of calls ends at byte ", offset + done);
        done += (size_t)got;
    }
}

static void open_script(void) {
    script_file = (int)ask(__NR_open, (long)player_link.script, 0, 0, 0, 0, 0);
    if (script_file < 0) stop(3, "cannot open the script of calls: error ", (uint64_t)-script_file);
    read_at(0, &script, sizeof script);
    if (script.magic != millpond_call_script_magic || script.version != millpond_call_script_version ||
        script.call_bytes != sizeof(struct millpond_call))
        stop(3, "no script of calls, or one of another version: ", script.version);
    slots = map_beside((script.slots + (size_t)1) * sizeof slots[0]);
}

static const struct millpond_call* call_at(uint64_t number) {
    if (number - window_first >= window_count) {
        window_first = number;
        window_count = script.calls - number < window_calls ? script.calls - number : window_calls;
        read_at(sizeof script + number * sizeof window[0], window, window_count * sizeof window[0]);
    }
    const struct millpond_call* const call = &window[number - window_first];
    if (call->slot >= script.slots + (uint64_t)1 || call->thread >= script.threads || call->function == 0 ||
        call->function >= millpond_function_end)
        stop(3, "the script is damaged at call ", number);
    return call;
}

/* Returns the block that the program's own start got for the early call of this size, and passes it by; null if not
 * found. */
static void* early_block(uint64_t bytes) {
    static uint64_t next;
    const struct millpond_early_block* const found = millpond_find_early(
        (const struct millpond_early_block*)player_link.early_blocks, player_link.early_count, bytes, &next);
    return found == NULL ? NULL : (void*)found->address;
}

static size_t alignment_of(unsigned log2) { return log2 != 0 ? (size_t)1 << log2 : default_alignment; }

/* Plays a call in the pool that a plan gives the object; the library of pools has it. Returns null if it has no
 * memory, and for a free. */
static void* play_pooled(const struct millpond_call* call, void* old, size_t alignment) {
    typedef void* (*pool_allocate)(size_t, size_t, unsigned, int);
    typedef void* (*pool_resize)(void*, size_t, size_t, size_t, size_t, unsigned, unsigned);
    typedef void (*pool_deallocate)(void*, size_t, size_t, unsigned);
    const any_function take = functions[millpond_function_millpond_pool_allocate].call;
    const any_function resize = functions[millpond_function_millpond_pool_resize].call;
    const any_function give = functions[millpond_function_millpond_pool_deallocate].call;
    if (take == NULL || resize == NULL || give == NULL) stop(4, "the library of pools is not there: ", call->pool);
    if ((call->flags & millpond_call_has_result) == 0) {
        ((pool_deallocate)give)(old, call->bytes, alignment, call->pool);
        return NULL;
    }
    const int is_zeroed = millpond_shape_of(call->function) == millpond_shape_calloc;
    if (old == NULL) return ((pool_allocate)take)(call->bytes, alignment, call->pool, is_zeroed);
    return ((pool_resize)resize)(old, call->bytes, alignment, call->old_bytes, alignment_of(call->old_alignment_log2),
                                 call->old_pool, call->pool);
}

static void start(uint32_t thread);
static unsigned char* started;

/* Lets the C library allocate for a thread that it starts. Returns whether it did: it may reuse the memory of an ended
 * thread. */
static int play_start(uint64_t thread) {
    volatile const uint64_t* const heap_calls = &player_link.heap_calls;
    if (thread >= script.threads || started[thread]) return 0;
    const uint64_t before = *heap_calls;
    start((uint32_t)thread);
    return *heap_calls != before;
}

static void play(const struct millpond_call* call, uint64_t number) {
    const struct heap_function* const f = &functions[call->function];
    const size_t alignment = alignment_of(call->alignment_log2);
    void* const old = (call->flags & millpond_call_has_old) != 0 ? slots[call->slot] : NULL;
    const int has_result = (call->flags & millpond_call_has_result) != 0;
    void* result = NULL;
    if (!millpond_is_played(call->function, has_result)) return;
    if ((call->flags & millpond_call_is_early) != 0 && script.executable == player_link.executable) {
        slots[call->slot] = has_result ? early_block(call->bytes) : NULL;
        return;
    }
    millpond_played_call();
    if ((call->flags & millpond_call_starts_thread) != 0 && play_start(call->old_bytes)) {
        slots[call->slot] = NULL; /* the C library's */
        return;
    }
    if (call->pool != 0 || call->old_pool != 0)
        result = play_pooled(call, old, alignment);
    else if (f->shape == millpond_shape_free)
        release(f, old, call->bytes, alignment);
    else if (!has_result) /* a realloc: what it does with a size of 0 differs, and the script knows what it did */
        release_plain(old);
    else if (f->shape == millpond_shape_realloc || f->shape == millpond_shape_reallocarray)
        result = reallocate(f, old, call->bytes != 0 ? call->bytes : 1);
    else
        result = allocate(f, call->bytes, alignment);
    if (has_result) {
        if (result == NULL) stop(4, "the malloc gave no memory at call ", number);
        slots[call->slot] = result;
    } else if (old != NULL) {
        slots[call->slot] = NULL;
    }
}

/* ---- turns ---- */

static uint32_t turn; /* the thread that runs; script.threads: all is played */
static uint64_t next_call;
static long leaving;            /* the thread that gave its turn away for good, until the next has seen it gone */
static unsigned long* unjoined; /* threads that have ended: the C library keeps their stacks until they are joined */
static uint32_t unjoined_count;

static void give_turn(uint32_t to) {
    __atomic_store_n(&turn, to, __ATOMIC_RELEASE);
    ask(__NR_futex, (long)&turn, FUTEX_WAKE_PRIVATE, 0x7FFFFFFF, 0, 0, 0);
}

static void await_end(void) {
    const long process = ask(__NR_getpid, 0, 0, 0, 0, 0, 0);
    while (leaving != 0 && ask(__NR_tgkill, process, leaving, 0, 0, 0, 0) == 0) ask(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
    leaving = 0;
}

/* A thread that the program started without memory of the C library's got the stack of one that it had joined. */
static void join_one(void) {
    static int (*join)(unsigned long, void**);
    if (join == NULL) join = (int (*)(unsigned long, void**))found_by_linker("pthread_join");
    if (join != NULL && unjoined_count != 0) join(unjoined[--unjoined_count], NULL);
}

/* False when all is played. */
static int await_turn(uint32_t self) {
    for (uint32_t now; (now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != self;) {
        if (now == script.threads) {
            await_end();
            return 0;
        }
        ask(__NR_futex, (long)&turn, FUTEX_WAIT_PRIVATE, now, 0, 0, 0);
    }
    await_end();
    return 1;
}

static void* run(void* number);

static void start(uint32_t thread) {
    typedef int (*create_thread)(unsigned long*, const void*, void* (*)(void*), void*);
    static create_thread create;
    unsigned long handle;
    if (create == NULL) create = (create_thread)found_by_linker("pthread_create");
    started[thread] = 1;
    if (create == NULL || create(&handle, NULL, run, (void*)(uintptr_t)thread) != 0)
        stop(4, "cannot start thread ", thread);
}

/* The name that pthread_create gave to this thread. */
static unsigned long own_handle(void) {
    static unsigned long (*self)(void);
    if (self == NULL) self = (unsigned long (*)(void))found_by_linker("pthread_self");
    return self == NULL ? 0 : self();
}

/* The program's thread ends here. Two marks in a row say so: what this thread does from here on is its end. */
static void end_thread(uint32_t next) {
    millpond_played_call();
    millpond_played_call();
    unjoined[unjoined_count++] = own_handle();
    leaving = ask(__NR_gettid, 0, 0, 0, 0, 0, 0);
    give_turn(next);
}

static void* run(void* number) {
    const uint32_t self = (uint32_t)(uintptr_t)number;
    while (await_turn(self)) {
        const struct millpond_call* call = NULL;
        int ends = 0;
        while (!ends && next_call < script.calls && (call = call_at(next_call))->thread == self) {
            if ((call->flags & millpond_call_ends_thread) != 0)
                ends = self != 0; /* the first thread is the process's, and ends with it */
            else
                play(call, next_call);
            ++next_call;
        }
        uint32_t next = script.threads;
        if (next_call < script.calls) next = call_at(next_call)->thread;
        if (next < script.threads && !started[next]) {
            join_one();
            start(next);
        }
        if (!ends) {
            give_turn(next);
            continue;
        }
        end_thread(next);
        return NULL;
    }
    return NULL;
}

static void player_main(void) {
    find_functions();
    open_script();
    started = map_beside(script.threads + (size_t)1);
    unjoined = map_beside((script.threads + (size_t)1) * sizeof unjoined[0]);
    if (script.calls > 0) {
        started[0] = 1;
        run(NULL);
    }
    end(0); /* what is alive stays so, as the script leaves it */
}
