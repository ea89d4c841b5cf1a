// SPDX-License-Identifier: BSL-1.0
// new_delete: the block source that calls the program's own operator new and delete.
//
//   try_allocate ──▶ operator new(bytes, alignment, nothrow)
//   deallocate   ──▶ operator delete(block, bytes, alignment)
//
// Use it as the upstream of everything else, and as the baseline that local allocators are compared with (AS1 and AS2
// of P0089R0, section 4). As the direct source of a pool that is often released it is slow: the C library trims its
// heap each time, and the pages fault in again; chunk_cache keeps them.
//
// Complexity and thread-safety: those of operator new. Stateless: all objects are equal.
//
// Example:
//     millpond::new_delete source;
//     void* block = source.allocate(100, 64);
//     source.deallocate(block, 100, 64);
#pragma once

#include <cstddef>
#include <new>

#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/out_of_memory.hpp"
#include "../os/pages.hpp"

namespace millpond::inline MILLPOND_ABI {

class new_delete {
  public:
    using pages = os::pages;  // ordinary process memory, so a pool may reserve pages of its own

    // Returns: `bytes` of memory aligned to `alignment`, or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > detail::max_bytes || alignment > detail::max_bytes - bytes) return nullptr;
        if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return ::operator new(bytes, std::nothrow);
        return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    }

    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* block = try_allocate(bytes, alignment)) return block;
        out_of_memory(bytes, alignment);
    }

    // Effects: gives back a block that was allocated with the same `bytes` and `alignment`.
    void deallocate(void* block, [[maybe_unused]] std::size_t bytes, std::size_t alignment) noexcept {
        if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
#if defined(__cpp_sized_deallocation)
            ::operator delete(block, bytes);
#else
            ::operator delete(block);
#endif
        } else {
#if defined(__cpp_sized_deallocation)
            ::operator delete(block, bytes, std::align_val_t{alignment});
#else
            ::operator delete(block, std::align_val_t{alignment});
#endif
        }
    }
};

[[nodiscard]] constexpr bool operator==(const new_delete&, const new_delete&) noexcept { return true; }

template <>
inline constexpr bool is_thread_safe_source<new_delete> = true;

}  // namespace millpond::inline MILLPOND_ABI
