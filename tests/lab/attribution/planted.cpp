// SPDX-License-Identifier: BSL-1.0
// A program with two subsystems whose references are known: `wide` has 10 objects of a cache line each, `narrow` has
// one of two lines. Each of 1000 rounds stores a byte to each line of `wide`, then to each line of `narrow`, then to a
// global variable.
#include <cstdlib>

namespace {

constexpr int rounds = 1000, wide_objects = 10;
volatile int global;

struct wide {
    [[gnu::noinline]] static char* make() { return static_cast<char*>(std::aligned_alloc(64, 64)); }
};
struct narrow {
    [[gnu::noinline]] static char* make() { return static_cast<char*>(std::aligned_alloc(64, 128)); }
};

// Stores one byte; the compiler cannot remove or merge the store.
[[gnu::always_inline]] inline void store(char* at) { __asm__ volatile("movb $1, %0" : "=m"(*at)); }

}  // namespace

int main() {
    char* all[wide_objects];
    for (char*& each : all) each = wide::make();
    char* const other = narrow::make();
    for (int round = 0; round < rounds; ++round) {
        for (char* each : all) store(each);
        store(other);
        store(other + 64);
        global = round;
    }
    for (char* each : all) std::free(each);
    std::free(other);
}
