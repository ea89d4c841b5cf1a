// SPDX-License-Identifier: BSL-1.0
// sized_blocks: malloc, realloc and free of a place whose blocks have no head: whoever frees a block tells its size.
//
//   allocate_bytes(50)          ─▶ │ block of 56 │         aligned as malloc aligns: to 8 up to 8 bytes, else to 16
//   resize_bytes(p, 50, 100)    ─▶ │ another of 112 │      the first 50 bytes are copied
//   deallocate_bytes(p, 100)
#pragma once

#include <cstddef>
#include <cstring>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Returns: the alignment of a block that malloc would give.
[[nodiscard]] constexpr std::size_t usual_alignment(std::size_t bytes) noexcept { return bytes <= 8 ? 8 : 16; }

template <class Place>
class sized_blocks {
  public:
    // Returns: a block, or null if there is no memory.
    [[nodiscard]] static void* allocate_bytes(std::size_t bytes) noexcept {
        return Place::pool().try_allocate(bytes, usual_alignment(bytes));
    }

    // Effects: frees a block that was requested with so many bytes; null is allowed.
    static void deallocate_bytes(void* block, std::size_t bytes) noexcept {
        if (block != nullptr) Place::pool().deallocate(block, bytes, usual_alignment(bytes));
    }

    // Returns: a block of `bytes` with the contents of `block`, which was requested with `held` bytes and is freed;
    // null if there is no memory, and then `block` is as it was. A null block counts as empty.
    [[nodiscard]] static void* resize_bytes(void* block, std::size_t held, std::size_t bytes) noexcept {
        void* const moved = Place::allocate_bytes(bytes);
        if (block == nullptr || moved == nullptr) return moved;
        std::memcpy(moved, block, held < bytes ? held : bytes);
        Place::deallocate_bytes(block, held);
        return moved;
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
