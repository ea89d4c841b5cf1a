// SPDX-License-Identifier: BSL-1.0
// aligned_memory: memory of the C library at any alignment, on every system.
#pragma once

#include <cstddef>
#include <cstdlib>
#if defined(_WIN32)
#include <malloc.h>
#endif

namespace millpond::test {

// Returns: `bytes`, a multiple of `alignment`, or null. free_aligned gives them back.
[[nodiscard]] inline void* aligned_memory(std::size_t bytes, std::size_t alignment) noexcept {
#if defined(_WIN32)
    return _aligned_malloc(bytes, alignment);
#else
    return std::aligned_alloc(alignment, bytes);
#endif
}

inline void free_aligned(void* block) noexcept {
#if defined(_WIN32)
    _aligned_free(block);
#else
    std::free(block);
#endif
}

}  // namespace millpond::test
