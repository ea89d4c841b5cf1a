// SPDX-License-Identifier: BSL-1.0
// sanitizer: tells AddressSanitizer or Valgrind's memcheck which bytes of a chunk are in use.
//
//   chunk from the source     ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒   poisoned on acquire
//   block of 13 bytes         ▒▒▒▒█████████████▒▒▒   exactly the requested bytes are unpoisoned
//   after deallocate or reset ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒   poisoned again
//   before it goes upstream   ████████████████████   unpoisoned
//
// Pools also leave gaps between blocks for AddressSanitizer and tell it who owns each block: block_owner.hpp. Every
// allocator that carves chunks calls these functions; user code needs them only to write an allocator of its own.
// Memory opened by unpoison counts as never written. unpoison_contents opens memory in order to read what it holds,
// such as a link in a freed block. The two are the same for AddressSanitizer, but memcheck would report the read.
//
// AddressSanitizer is detected automatically. For memcheck, define MILLPOND_VALGRIND in all translation units: it needs
// Valgrind's header, costs a few instructions a call, and does nothing outside Valgrind. Without either, all of this
// compiles to nothing. Exact for blocks that start at multiples of 8. For others AddressSanitizer's shadow rounds, but
// a legal access is never reported. O(bytes / 8). Thread-safe for disjoint memory.
//
// Example:
//     alignas(8) char chunk[64] = {};
//     millpond::detail::poison(chunk, sizeof chunk);
//     millpond::detail::unpoison(chunk, 13);            // chunk[13] is now an error, chunk[12] is not
//     millpond::detail::unpoison(chunk, sizeof chunk);  // before the memory is given back
#pragma once

#include <cstddef>

#include "../abi.hpp"

#if defined(MILLPOND_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#elif defined(MILLPOND_VALGRIND)
#if !__has_include(<valgrind/memcheck.h>)
#error "MILLPOND_VALGRIND needs Valgrind's headers: install valgrind, or do not define it"
#endif
#include <valgrind/memcheck.h>
#endif

namespace millpond::inline MILLPOND_ABI::detail {

#if defined(MILLPOND_ASAN)
inline constexpr bool address_sanitizer = true;
inline void poison(const volatile void* memory, std::size_t bytes) noexcept {
    __asan_poison_memory_region(memory, bytes);
}
inline void unpoison(const volatile void* memory, std::size_t bytes) noexcept {
    __asan_unpoison_memory_region(memory, bytes);
}
inline void unpoison_contents(const volatile void* memory, std::size_t bytes) noexcept { unpoison(memory, bytes); }
// Effects: reports a block that may not be touched. Allocators call it for each block that is given back: a block that
// was freed before, or by a reset, is poisoned.
inline void expect_open(const volatile void* block) noexcept {
    static_cast<void>(*static_cast<const volatile char*>(block));
}
// Returns: true if the byte may not be touched.
[[nodiscard]] inline bool is_poisoned(const volatile void* byte) noexcept {
    return __asan_address_is_poisoned(byte) != 0;
}
// Effects: leak checkers follow pointers in this memory, which malloc does not know, so their targets are not leaks.
inline void search_for_pointers(const volatile void* memory, std::size_t bytes) noexcept {
    __lsan_register_root_region(const_cast<const void*>(memory), bytes);
}
inline void search_no_more(const volatile void* memory, std::size_t bytes) noexcept {
    __lsan_unregister_root_region(const_cast<const void*>(memory), bytes);
}
#elif defined(MILLPOND_VALGRIND)
inline constexpr bool address_sanitizer = false;
inline void poison(const volatile void* memory, std::size_t bytes) noexcept {
    static_cast<void>(VALGRIND_MAKE_MEM_NOACCESS(memory, bytes));
}
inline void unpoison(const volatile void* memory, std::size_t bytes) noexcept {
    static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(memory, bytes));
}
inline void unpoison_contents(const volatile void* memory, std::size_t bytes) noexcept {
    static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(memory, bytes));
}
inline void expect_open(const volatile void* block) noexcept {
    static_cast<void>(VALGRIND_CHECK_MEM_IS_ADDRESSABLE(block, 1));
}
#else
inline constexpr bool address_sanitizer = false;
constexpr void poison(const volatile void*, std::size_t) noexcept {}
constexpr void unpoison(const volatile void*, std::size_t) noexcept {}
constexpr void unpoison_contents(const volatile void*, std::size_t) noexcept {}
constexpr void expect_open(const volatile void*) noexcept {}
#endif
#if !defined(MILLPOND_ASAN)
[[nodiscard]] constexpr bool is_poisoned(const volatile void*) noexcept { return false; }
constexpr void search_for_pointers(const volatile void*, std::size_t) noexcept {}
constexpr void search_no_more(const volatile void*, std::size_t) noexcept {}
#endif

// True where a sanitizer listens to the functions above.
#if defined(MILLPOND_ASAN) || defined(MILLPOND_VALGRIND)
inline constexpr bool memory_checker = true;
#else
inline constexpr bool memory_checker = false;
#endif

// Unused bytes between a block and bookkeeping right behind it, so that an overrun meets poison first.
inline constexpr std::size_t redzone_bytes = memory_checker ? 16 : 0;

}  // namespace millpond::inline MILLPOND_ABI::detail
