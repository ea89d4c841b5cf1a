// SPDX-License-Identifier: BSL-1.0
// A program that touches one byte of its own for each case that is hard to attribute, and prints the addresses of those
// bytes. It defines operator new, which is interrupted, throws and is left, as may happen in an allocator.
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

#include "marks.hpp"

namespace {

alignas(4096) volatile unsigned char bytes[mark_count * mark_distance];
volatile unsigned char scratch[4096];
jmp_buf landing;
sigjmp_buf signal_landing;

enum class behaviour { plain, interrupted, throwing, jumping, handler_jumps } next_new = behaviour::plain;

[[gnu::always_inline]] inline void store(mark m) { bytes[m * mark_distance] = 1; }
[[gnu::always_inline]] inline unsigned load(mark m) { return bytes[m * mark_distance]; }
[[gnu::always_inline]] inline void modify(mark m) {
    __asm__ volatile("addb $1, %0" : "+m"(*const_cast<unsigned char*>(&bytes[m * mark_distance])));
}

void on_signal(int) {
    store(in_handler);
    if (next_new == behaviour::handler_jumps) siglongjmp(signal_landing, 1);
}

void* on_thread(void*) {
    store(in_thread);
    return nullptr;
}

// A function whose last act is a jump.
[[gnu::noinline]] void release(void* p) { free(p); }

}  // namespace

void* operator new(size_t size) {
    const behaviour now = next_new;
    store(in_new);
    void* const p = malloc(size);
    if (now == behaviour::interrupted || now == behaviour::handler_jumps) raise(SIGUSR1);
    if (now == behaviour::interrupted) store(in_new_after_handler);
    if (now == behaviour::throwing) throw std::bad_alloc();
    if (now == behaviour::jumping) longjmp(landing, 1);
    return p;
}
void operator delete(void* p) noexcept { free(p); }
void operator delete(void* p, size_t) noexcept { free(p); }

static void accesses() {
    store(stored);
    (void)load(loaded);
    modify(modified);
    unsigned char* const p = const_cast<unsigned char*>(&bytes[wide * mark_distance]);
    __asm__ volatile("movups %%xmm0, %0" : "=m"(*reinterpret_cast<unsigned char(*)[16]>(p)));
}

// A window that ends only with its return, whatever is left inside it.
extern "C" [[gnu::noinline]] void endings_of_new() {
    delete static_cast<int*>(operator new(24));
    store(after_new);
    next_new = behaviour::interrupted;
    operator delete(operator new(24));
    store(after_interrupted);
    next_new = behaviour::throwing;
    try {
        operator delete(operator new(24));
    } catch (const std::bad_alloc&) {
        store(after_throw);
    }
    next_new = behaviour::jumping;
    if (setjmp(landing) == 0)
        operator delete(operator new(24));
    else
        store(after_jump);
    next_new = behaviour::handler_jumps;
    if (sigsetjmp(signal_landing, 1) == 0)
        operator delete(operator new(24));
    else
        store(after_signal_jump);
    next_new = behaviour::plain;
}

static int to_second[2], to_first[2];  // pipes

static void pass(int pipe) {
    if (write(pipe, "", 1) != 1) _exit(9);
}
static void wait_for(int pipe) {
    char token;
    if (read(pipe, &token, 1) != 1) _exit(9);
}

// A window that two threads are in at once. The first thread to enter is the last to leave.
extern "C" [[gnu::noinline]] void entered_by_two(bool is_first) {
    if (!is_first) {
        store(second_in_window);
        return;
    }
    pass(to_second[1]);
    wait_for(to_first[0]);
    store(last_in_window);
}

static void* second_thread(void*) {
    wait_for(to_second[0]);
    entered_by_two(false);
    store(beside_window);
    pass(to_first[1]);
    return nullptr;
}

static void two_in_a_window() {
    if (pipe(to_second) != 0 || pipe(to_first) != 0) _exit(9);
    pthread_t second;
    pthread_create(&second, nullptr, second_thread, nullptr);
    entered_by_two(true);
    store(after_window);
    pthread_join(second, nullptr);
}

// Allocates sizes that nothing else here asks for.
static void heap() {
    void* p = malloc(size_of_malloc);
    p = realloc(p, size_of_realloc);
    release(p);
    store(after_tail_call);
    free(calloc(1, size_of_calloc));
    void* aligned = nullptr;
    if (posix_memalign(&aligned, 256, size_of_posix_memalign) == 0) free(aligned);
    free(aligned_alloc(64, size_of_aligned_alloc));
    void* volatile huge = malloc(static_cast<size_t>(-1) / 4);
    free(huge);
}

int main(int argc, char** argv) {
    printf("%p\n", const_cast<const unsigned char*>(bytes));
    fflush(stdout);
    struct sigaction action{};
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, nullptr);
    accesses();
    endings_of_new();
    heap();
    pthread_t thread;
    pthread_create(&thread, nullptr, on_thread, nullptr);
    pthread_join(thread, nullptr);
    two_in_a_window();
    const int zero = open("/dev/zero", O_RDWR);
    if (read(zero, const_cast<unsigned char*>(&bytes[read_by_system * mark_distance]), mark_distance) < 0 ||
        write(zero, const_cast<unsigned char*>(&bytes[written_to_system * mark_distance]), 1) < 0)
        return 1;
    close(zero);
    const pid_t child = fork();
    if (child == 0) {
        store(in_child);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    store(after_fork);
    if (argc > 1 && strcmp(argv[1], "exec") == 0) execl("/bin/true", "true", nullptr);
    if (argc > 1 && strcmp(argv[1], "crash") == 0) raise(SIGSEGV);
    if (argc > 1 && strcmp(argv[1], "kill") == 0) {
        for (unsigned i = 0; i < 6000000; ++i) scratch[i % sizeof scratch] = 1;  // so much that blocks are written
        // Written for the reader of the trace: Valgrind sees the messages that the program sends to itself.
        printf("%d\n", getpid());
        fflush(stdout);
        for (;;) pause();
    }
    return 3;
}
