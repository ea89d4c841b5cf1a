// SPDX-License-Identifier: BSL-1.0
// headed_blocks: malloc, realloc and free of a place whose blocks have a head with their size and arena.
//
//   │units, arena│ block │      16 bytes before each block: it may be freed in another call than the one that made it
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Allocator: that of a place, which knows its arena when it is made.
template <template <class> class Allocator>
class headed_blocks {
    struct alignas(16) head {
        std::size_t units;
        Allocator<head> from;
    };

  public:
    // Returns: a block aligned to 16. Throws: what the allocator throws.
    [[nodiscard]] static void* allocate_bytes(std::size_t bytes) {
        const std::size_t units = 1 + bytes / sizeof(head) + (bytes % sizeof(head) != 0);
        Allocator<head> from;
        return ::new (static_cast<void*>(from.allocate(units))) head{units, from} + 1;
    }

    // Effects: frees the block, whose size and arena its head tells; null is allowed.
    static void free_bytes(void* block) noexcept {
        if (block == nullptr) return;
        head* const first = static_cast<head*>(block) - 1;
        Allocator<head> from = first->from;
        from.deallocate(first, first->units);
    }

    // Returns: a block of `bytes` with the contents of `block`, which is freed; null counts as empty. Throws: what the
    // allocator throws, and then `block` is as it was.
    [[nodiscard]] static void* resize_bytes(void* block, std::size_t bytes) {
        void* const moved = allocate_bytes(bytes);
        if (block != nullptr) {
            const std::size_t held = ((static_cast<head*>(block) - 1)->units - 1) * sizeof(head);
            std::memcpy(moved, block, held < bytes ? held : bytes);
            free_bytes(block);
        }
        return moved;
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
