// SPDX-License-Identifier: BSL-1.0
// early_library: a library that a user preloads. It allocates in its constructor and interposes a function of the C
// library.

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
