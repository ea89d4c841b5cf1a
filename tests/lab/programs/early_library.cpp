// SPDX-License-Identifier: BSL-1.0
// early_library: preloaded into a program by its user, for reasons of his own. Allocates in its constructor, and stands
// in front of a function of the C library.

#include <unistd.h>

#include <cstdlib>

namespace {

[[gnu::constructor]] void construct() {
    for (std::size_t i = 0; i < 100; ++i) {
        void* volatile memory = std::malloc(5000 + i);
        std::free(memory);
    }
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int getpagesize() noexcept { return 12345; }
