// SPDX-License-Identifier: BSL-1.0
// plugin: loaded and unloaded by `loading`, again and again. It keeps an object from its constructor to its destructor.

#include <cstdlib>

namespace {

void* kept = nullptr;

[[gnu::constructor]] void arrive() { kept = std::malloc(5500); }
[[gnu::destructor]] void leave() { std::free(kept); }

}  // namespace

extern "C" [[gnu::visibility("default")]] void* plugin_allocate(std::size_t bytes) {
    auto* const memory = static_cast<volatile char*>(std::malloc(bytes));
    memory[0] = 1;
    return const_cast<char*>(memory);
}
