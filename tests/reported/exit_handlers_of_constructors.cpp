// SPDX-License-Identifier: BSL-1.0
// Report: Begun/lockfree-malloc 1
// Situation: static constructors register more exit handlers than fit into the C library's first table, so that
//   it allocates while it registers.
// Holds: the program starts, and runs every handler once.
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
static int ended = 0;
static void end() {
    std::free(std::malloc(100));
    if (++ended == 500 && write(1, "all handlers\n", 13) != 13) _exit(3);
}
struct many {
    many() {
        for (int i = 0; i < 500; ++i) std::atexit(end);
    }
};
static many first;
int main() { return 0; }
