// SPDX-License-Identifier: BSL-1.0
// lost_blocks: leaves blocks of known sizes at its end, some of them reachable in one way each. A test knows by the size
// which ones a scan must find lost: a size is 5000 and a multiple of 16 that is listed there. "child" as an argument: a
// forked child does it, too. "_exit": it ends without exit handlers.
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

namespace {

void* in_data = reinterpret_cast<void*>(1);
void *in_bss, *parts[4];
thread_local void* in_thread_variable;
sem_t waits;

// Opaque to the compiler, which must drop neither a block nor a pointer in it.
[[gnu::noipa]] void* allocate(std::size_t bytes) { return malloc(bytes); }
[[gnu::noipa]] void put(void* block, std::size_t word, void* value) { static_cast<void**>(block)[word] = value; }

// No caller is told the address in a register that the caller keeps.
[[gnu::noipa]] void keep(void** where, std::size_t bytes) { *where = allocate(bytes); }

[[gnu::noipa]] void lose(std::size_t bytes) { (void)allocate(bytes); }

[[gnu::noipa]] void make_chain() {
    void *const first = allocate(5056), *const second = allocate(5072), *const third = allocate(5088);
    put(first, 7, second);
    put(second, 600, third);
    put(parts, 0, first);
}

[[gnu::noipa]] void lose_cycle() {
    void *const first = allocate(5120), *const second = allocate(5136);
    put(first, 0, second);
    put(second, 0, first);
}

[[gnu::noipa]] void keep_parts() {
    put(parts, 1, static_cast<char*>(allocate(5104)) + 100);
    put(parts, 2, static_cast<char*>(allocate(5200)) + 5199);
    put(parts, 3, static_cast<char*>(allocate(5264)) + 5264);
}

// A pointer in a page that cannot be read, one in a page of the program's own, and a stale one in a freed block.
[[gnu::noipa]] void keep_in_pages() {
    constexpr std::size_t page = 65536;
    for (const bool is_readable : {false, true}) {
        void* const made = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        put(made, 0, allocate(is_readable ? 5232 : 5216));
        if (!is_readable) mprotect(made, page, PROT_NONE);
    }
    void* const freed = allocate(6000);
    put(freed, 300, allocate(5248));
    free(freed);
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is pthread's
void* wait_with_block(void*) {
    void* own = nullptr;
    keep(&own, 5184);
    sem_post(&waits);
    while (own != nullptr) pause();
    return nullptr;
}

// Removes the words that calls have left below the stack pointer.
[[gnu::noipa]] void clear_stack() {
    volatile char room[64 << 10];
    for (volatile char& byte : room) byte = 0;
}

}  // namespace

int main(int argc, char** argv) {
    const char* const how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "child") == 0) {
        const pid_t child = fork();
        if (child > 0) waitpid(child, nullptr, 0);
    }
    void* on_stack = nullptr;
    keep(&on_stack, 5040);
    keep(&in_data, 5008);
    keep(&in_bss, 5024);
    keep(&in_thread_variable, 5168);
    make_chain();
    lose_cycle();
    keep_parts();
    keep_in_pages();
    for (int i = 0; i < 3; ++i) lose(5152);
    lose(0);
    sem_init(&waits, 0, 0);
    pthread_t thread;
    pthread_create(&thread, nullptr, wait_with_block, nullptr);
    sem_wait(&waits);
    clear_stack();
    if (strcmp(how, "_exit") == 0) _exit(3);
    exit(on_stack != nullptr ? 3 : 4);
}
