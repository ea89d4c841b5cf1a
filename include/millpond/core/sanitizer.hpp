// SPDX-License-Identifier: BSL-1.0
// sanitizer: tells AddressSanitizer which bytes of a chunk belong to somebody.
//
//   chunk from the source     ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒   poisoned on acquire
//   block of 13 bytes         ▒▒▒▒█████████████▒▒▒   exactly the requested bytes are unpoisoned
//   after deallocate or reset ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒   poisoned again
//   before it goes upstream   ████████████████████   unpoisoned
//
// Every allocator that carves chunks calls these; user code needs them only when it writes an allocator of its own.
// In builds without AddressSanitizer all of it compiles to nothing. Exact for blocks that start at multiples of 8;
// for others the shadow rounds, never so that a legal access is reported.
// O(bytes / 8). Thread-safe for disjoint memory.
//
// Example:
//     alignas(8) char chunk[64] = {};
//     millpond::poison(chunk, sizeof chunk);
//     millpond::unpoison(chunk, 13);            // chunk[13] is now an error, chunk[12] is not
//     millpond::unpoison(chunk, sizeof chunk);  // before the memory is given back
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define MILLPOND_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MILLPOND_ASAN 1
#endif
#endif

#if defined(MILLPOND_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace millpond {

#if defined(MILLPOND_ASAN)
inline constexpr bool address_sanitizer = true;
inline void poison(const volatile void* memory, std::size_t bytes) noexcept {
    __asan_poison_memory_region(memory, bytes);
}
inline void unpoison(const volatile void* memory, std::size_t bytes) noexcept {
    __asan_unpoison_memory_region(memory, bytes);
}
#else
inline constexpr bool address_sanitizer = false;
constexpr void poison(const volatile void*, std::size_t) noexcept {}
constexpr void unpoison(const volatile void*, std::size_t) noexcept {}
#endif

// Bytes that nobody owns between a block and bookkeeping right behind it, so that an overrun meets poison first.
inline constexpr std::size_t redzone_bytes = address_sanitizer ? 16 : 0;

}  // namespace millpond
