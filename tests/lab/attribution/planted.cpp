// SPDX-License-Identifier: BSL-1.0
// Two subsystems whose references are known: `wide` 10 objects of a line each, `narrow` one of two lines. In each of
// 1000 rounds a byte of each line of `wide` is stored to, then of each line of `narrow`, then a global variable.
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

// One store each, whatever the compiler thinks of it.
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
