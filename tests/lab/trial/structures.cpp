// SPDX-License-Identifier: BSL-1.0
// structures ROUNDS THREADS: a program of known subsystems. Each allocates a given number of times, on one or several
// threads, so that the router's counts can be checked exactly.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

namespace alpha {
class table {
  public:
    __attribute__((noinline)) static void* add() { return keep(::operator new(40)); }
    __attribute__((noinline)) static void* keep(void* p) {
        asm volatile("" : : "r"(p) : "memory");
        return p;
    }
};
}  // namespace alpha

namespace beta {
__attribute__((noinline)) void* tree_add() {
    void* p = std::malloc(72);
    asm volatile("" : : "r"(p) : "memory");
    return p;
}
__attribute__((noinline)) void* tree_grow(void* p) {
    p = std::realloc(p, 720);
    asm volatile("" : : "r"(p) : "memory");
    return p;
}
}  // namespace beta

namespace gamma_ray {  // its vector's growth goes through the standard library
struct log {
    std::vector<long> lines;
    __attribute__((noinline)) void write(long n) {
        for (long i = 0; i < n; ++i) lines.push_back(i);
    }
};
}  // namespace gamma_ray

__attribute__((noinline)) static void work(long rounds) {
    std::vector<void*> tables(static_cast<std::size_t>(rounds)), trees(static_cast<std::size_t>(rounds));
    for (long i = 0; i < rounds; ++i) {
        tables[static_cast<std::size_t>(i)] = alpha::table::add();
        trees[static_cast<std::size_t>(i)] = beta::tree_add();
    }
    for (void*& tree : trees) tree = beta::tree_grow(tree);
    gamma_ray::log log;
    log.write(1024);
    for (void* tree : trees) std::free(tree);
    for (void* table : tables) ::operator delete(table);
}

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? std::atol(argv[1]) : 1000;
    const int threads = argc > 2 ? std::atoi(argv[2]) : 0;
    if (threads == 0) work(rounds);
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back(work, rounds);
    for (std::thread& one : running) one.join();
    std::puts("done");
    return 0;
}
