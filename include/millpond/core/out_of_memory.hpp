// SPDX-License-Identifier: BSL-1.0
// out_of_memory: the failure of `allocate` after `try_allocate` returned null.
//
//   allocate ──null──▶ out_of_memory ──exceptions on───▶ throw std::bad_alloc
//                                    └─exceptions off──▶ out_of_memory_handler(bytes, alignment) ──returned──▶ abort
//
// If the source itself threw, kept_exception throws that exception instead.
// Set the handler in programs built with -fno-exceptions that want to act first; it may leave by longjmp or exit.
// Programs that can continue without the memory call `try_allocate` instead, and nothing here is linked.
// All translation units that use one allocator must agree on -fexceptions, as for any inline code.
//
// Thread-safety: set the handler before the first thread starts.
//
// Example:
//     millpond::out_of_memory_handler = [](std::size_t, std::size_t) { std::_Exit(3); };
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "abi.hpp"

namespace millpond::inline MILLPOND_ABI {

using out_of_memory_function = void(std::size_t bytes, std::size_t alignment);

// Effects: prints the request that failed on standard error, and aborts.
[[noreturn]] inline void report_out_of_memory(std::size_t bytes, std::size_t alignment) {
    std::fprintf(stderr,
                 "millpond: out of memory: %zu bytes aligned to %zu could not be obtained from the block source\n",
                 bytes, alignment);
    std::abort();
}

// Called by every `allocate` that fails in code built without exceptions.
inline out_of_memory_function* out_of_memory_handler = &report_out_of_memory;

// Effects: throws std::bad_alloc, or without exceptions calls the handler. Never returns.
[[noreturn, gnu::noinline, gnu::cold]] inline void out_of_memory(std::size_t bytes, std::size_t alignment) {
#if defined(__cpp_exceptions)
    static_cast<void>(bytes), static_cast<void>(alignment);
    throw std::bad_alloc();
#else
    out_of_memory_handler(bytes, alignment);
    std::abort();
#endif
}

}  // namespace millpond::inline MILLPOND_ABI

namespace millpond::inline MILLPOND_ABI::detail {

// Effects: throws std::bad_array_new_length, as so many objects would be too large; without exceptions calls the
// handler with `most_bytes`, the largest size that exists. Never returns.
[[noreturn, gnu::noinline, gnu::cold]] inline void array_too_long(std::size_t most_bytes, std::size_t alignment) {
#if defined(__cpp_exceptions)
    static_cast<void>(most_bytes), static_cast<void>(alignment);
    throw std::bad_array_new_length();
#else
    out_of_memory_handler(most_bytes, alignment);
    std::abort();
#endif
}

}  // namespace millpond::inline MILLPOND_ABI::detail
