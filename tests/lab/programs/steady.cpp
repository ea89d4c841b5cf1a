// SPDX-License-Identifier: BSL-1.0
// steady: a program that could run for days: EVENTS calls of the allocator, at most 4096 blocks of the loop alive, and
// 20 MB from its start. One of LEAK blocks stays, if LEAK is not 0.
//
//   steady EVENTS [LEAK [KILL]]          kills its parent before that event
//
// Prints the bytes alive at the end, and the resident KiB of itself and of its parent, after a tenth of the events and
// at the end.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t slots = 4096, start_blocks = 5000, start_bytes = 4096;

std::uint64_t random_state = 88172645463325252u;

std::uint64_t random_number() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

long resident_kib(pid_t process) {
    const std::string path = "/proc/" + std::to_string(process) + "/statm";
    std::FILE* const file = std::fopen(path.c_str(), "r");
    long size = 0, resident = 0;
    if (file == nullptr) return 0;
    if (std::fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
    std::fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

struct block {
    void* at = nullptr;
    std::size_t bytes = 0;
};

block* loop_blocks = nullptr;
std::uint64_t alive_bytes = 0;

void* make(std::size_t bytes) {
    void* const made = std::malloc(bytes);
    if (made == nullptr) std::abort();
    std::memset(made, 1, bytes < 64 ? bytes : 64);
    alive_bytes += bytes;
    return made;
}

[[gnu::noinline]] void* make_start(std::size_t bytes) { return make(bytes); }
[[gnu::noinline]] void* make_loop(std::size_t bytes) { return make(bytes); }
[[gnu::noinline]] void* make_leak(std::size_t bytes) { return make(bytes); }

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::uint64_t events = std::strtoull(argv[1], nullptr, 10);
    const std::uint64_t leak = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
    const std::uint64_t kills = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : events;
    std::vector<void*> start(start_blocks);
    for (void*& one : start) one = make_start(start_bytes);
    std::vector<block> blocks(slots);
    loop_blocks = blocks.data();
    long own_early = 0, parent_early = 0;
    void* volatile last = nullptr;
    for (std::uint64_t done = 0; done < events; done += 2) {
        if (done == kills) kill(getppid(), SIGKILL);
        const std::uint64_t number = random_number();
        block& one = blocks[number % slots];
        std::free(one.at);
        alive_bytes -= one.bytes;
        one.bytes = 16 + (number >> 20) % 1000;
        one.at = make_loop(one.bytes);
        if (leak != 0 && done / 2 % leak == 0) last = make_leak(256);
        if (own_early == 0 && done >= events / 10) {
            own_early = resident_kib(getpid());
            parent_early = resident_kib(getppid());
        }
    }
    std::printf("alive %llu\nown %ld %ld\nparent %ld %ld\n", static_cast<unsigned long long>(alive_bytes), own_early,
                resident_kib(getpid()), parent_early, resident_kib(getppid()));
    (void)last;
    return 0;
}
