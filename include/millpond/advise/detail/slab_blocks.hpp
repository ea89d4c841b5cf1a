// SPDX-License-Identifier: BSL-1.0
// slab_blocks: new, delete, malloc, realloc and free of a slab_pool, which finds the size of a block by its address.
//
//   up to 32 KiB, aligned to 64 bytes at most  ─▶ a block of the pool      a free asks the address which of them it is
//   above                                      ─▶ malloc's
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "../../core/out_of_memory.hpp"
#include "../../core/size_class_scheme.hpp"
#include "../../wrap/in_mode.hpp"
#include "lasting.hpp"
#include "made_object.hpp"
#include "requested_blocks.hpp"
#include "sized_blocks.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Slabs: the block source of the place, which tells the size of blocks by their address.
template <class Place, class Slabs>
class slab_blocks {
  public:
    static constexpr std::size_t pooled_bytes_max = std::size_t{32} << 10;

    // Returns: a block, or null if there is no memory.
    [[nodiscard]] static void* allocate_bytes(std::size_t bytes) noexcept { return take_block(bytes, 1); }

    // Returns: true if the block is one of the pool, and not malloc's.
    [[nodiscard]] static bool owns(const void* block) noexcept {
        if constexpr (records_requests) {
            return requests().find(block).alignment != 0;
        } else {
            return Slabs::block_bytes_at(block) != 0;
        }
    }

    // Effects: frees a block of the pool or of malloc; null is allowed.
    static void free_bytes(void* block) noexcept {
        if constexpr (records_requests) {
            const block_request request = requests().take(block);
            if (request.alignment != 0) return Place::pool().deallocate(block, request.bytes, request.alignment);
            // A misuse, which the pool reports.
            if (Slabs::block_bytes_at(block) != 0) return Place::pool().deallocate(block, 1, 1);
        } else if (const std::size_t bytes = Slabs::block_bytes_at(block)) {
            return Place::pool().deallocate(block, bytes, 1);
        }
        std::free(block);
    }

    // Effects: frees a block of allocate_bytes(bytes); null is allowed. A block that resize_bytes(block, bytes)
    // returned is for free_bytes, because its size may be another.
    static void deallocate_bytes(void* block, std::size_t bytes) noexcept {
        if (block == nullptr) return;
        if (bytes > pooled_bytes_max) return std::free(block);
        if constexpr (records_requests) requests().take(block);
        Place::pool().deallocate(block, bytes, usual_alignment(bytes));
    }

    // Returns: a block of `bytes` with the contents of `block`, of the pool or of malloc, which is freed if it moves;
    // null if there is no memory, and then `block` is as it was. A block stays where it is if it is large enough and
    // not mostly empty, or small.
    [[nodiscard]] static void* resize_bytes(void* block, std::size_t bytes) noexcept {
        if (block == nullptr) return allocate_bytes(bytes);
        const std::size_t held = held_bytes(block);
        // A size of zero would make realloc free the block and return null.
        if (held == 0) return std::realloc(block, bytes != 0 ? bytes : 1);
        if (bytes <= held && (bytes >= held / 4 || held <= kept_bytes)) return block;
        void* const moved = allocate_bytes(bytes);
        if (moved == nullptr) return bytes <= held ? block : nullptr;
        std::memcpy(moved, block, held < bytes ? held : bytes);
        free_bytes(block);
        return moved;
    }

    // Returns: the same for a block of allocate_bytes(held). It always moves, and is for deallocate_bytes or
    // free_bytes.
    [[nodiscard]] static void* resize_bytes(void* block, std::size_t held, std::size_t bytes) noexcept {
        return sized_blocks<Place>::resize_bytes(block, held, bytes);
    }

    // Returns: a T in the place of `new T(…)`. Throws: std::bad_alloc, and what the constructor throws.
    template <class T, class... Arguments>
    [[nodiscard]] static T* make(Arguments&&... arguments) {
        void* const place = take_block(sizeof(T), alignof(T));
        if (place == nullptr) out_of_memory(sizeof(T), alignof(T));
        return made_object<T>(
            place, [](void* block) noexcept { free_bytes(block); }, std::forward<Arguments>(arguments)...);
    }

    // Effects: as `delete object`, which may be of a class derived from T if T has a virtual destructor.
    template <class T>
    static void destroy(T* object) noexcept {
        if (object == nullptr) return;
        void* block;
        if constexpr (std::is_polymorphic_v<T>) {
            block = const_cast<void*>(dynamic_cast<const void*>(object));
        } else {
            block = const_cast<std::remove_cv_t<T>*>(object);
        }
        object->~T();
        free_bytes(block);
    }

  private:
    static constexpr std::size_t kept_bytes = 128;
    // There a block ends where the request did, not where the slab's next block begins.
    static constexpr bool records_requests = is_checked_mode || memory_checker;

    [[nodiscard]] static requested_blocks& requests() {
        static lasting<requested_blocks> all;
        return all.object;
    }

    // Returns: the bytes that the block may use; 0 if it is not the pool's.
    [[nodiscard]] static std::size_t held_bytes(const void* block) noexcept {
        if constexpr (records_requests) {
            return requests().find(block).bytes;
        } else {
            return Slabs::block_bytes_at(block);
        }
    }

    [[nodiscard]] static void* take_block(std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t usual = usual_alignment(bytes);
        const std::size_t aligned = alignment > usual ? alignment : usual;
        // Slabs hold blocks of size classes only, and no class has a larger alignment.
        if (bytes > pooled_bytes_max || aligned > max_class_alignment) return take_from_malloc(bytes, aligned);
        void* const block = Place::pool().try_allocate(bytes, aligned);
        if constexpr (records_requests) {
            if (block != nullptr) requests().add(block, {bytes, aligned});
        }
        return block;
    }
    [[nodiscard]] static void* take_from_malloc(std::size_t bytes, std::size_t alignment) noexcept {
        if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
#if defined(_WIN32)
        return nullptr;  // its C library has no aligned blocks that free takes
#else
        return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#endif
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
