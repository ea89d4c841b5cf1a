// SPDX-License-Identifier: BSL-1.0
// std_source: any standard allocator as a block source.
//
//   multipool<std_source<their_allocator<int>>> ──chunks──▶ their_allocator<unit>      unit: 16 bytes, aligned to 16
//   aligned to more:   │……│base│ block …………………│            the pointer that was really got lies before the block
//
// Use it where the memory must come from an allocator that the program already has: one that counts, pins, or lies in
// shared memory. For operator new use new_delete, for a std::pmr::memory_resource upstream_resource.
//
// Requires of Alloc: a copy of it frees what it allocated, as the standard says. Its pointers may be a class, such as
// boost::interprocess::offset_ptr; the pool holds addresses, so only the mapping that made it may use it.
// An exception of Alloc leaves the pool's allocate unchanged; try_allocate returns null.
// Complexity and thread-safety: those of Alloc. Ownership: holds a copy of the allocator. Equal if the allocators are.
//
// Example:
//     std::allocator<int> theirs;
//     millpond::multipool<millpond::std_source<std::allocator<int>>> pool(theirs);
//     pool.deallocate(pool.allocate(24, 8), 24, 8);
#pragma once

#include <cstddef>
#include <memory>
#if __has_include(<memory_resource>)  // else core/abi.hpp says which library has it
#include <memory_resource>
#endif
#include <type_traits>

#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/kept_exception.hpp"
#include "../core/detail/upstream_memory.hpp"
#include "../core/out_of_memory.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// True for standard allocators that keep freed memory in the process: pools take it in extents (extent_source). Others
// get every chunk back as soon as it is empty.
template <class Alloc>
inline constexpr bool holds_freed_pages = false;
template <class T>
inline constexpr bool holds_freed_pages<std::allocator<T>> = true;
template <class T>
inline constexpr bool holds_freed_pages<std::pmr::polymorphic_allocator<T>> = true;

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class Alloc>
class std_source {
    struct alignas(detail::default_alignment) unit {
        unsigned char bytes[detail::default_alignment];
    };
    using allocator = typename std::allocator_traits<Alloc>::template rebind_alloc<unit>;

  public:
    std_source() noexcept(std::is_nothrow_default_constructible_v<allocator>)
        requires std::is_default_constructible_v<allocator>
    = default;
    explicit std_source(const Alloc& source) noexcept : source_(source) {}

    // Returns: `bytes` of memory aligned to `alignment`; null if there is no memory or the allocator throws.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > detail::max_bytes || alignment > detail::max_bytes - bytes) return nullptr;
        unit* const base = try_units(units_of(bytes + margin_of(alignment)));
        return base == nullptr ? nullptr : block_in(base, alignment);
    }

    // Throws: what the allocator throws.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (bytes > detail::max_bytes || alignment > detail::max_bytes - bytes) out_of_memory(bytes, alignment);
        return block_in(detail::allocate_at_address(source_, units_of(bytes + margin_of(alignment))), alignment);
    }

    // Effects: gives back a block that was allocated with the same `bytes` and `alignment`.
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t margin = margin_of(alignment);
        unit* base = static_cast<unit*>(block);
        if (margin != 0) base = *reinterpret_cast<unit**>(static_cast<char*>(block) - sizeof(unit*));
        detail::deallocate_at_address(source_, base, units_of(bytes + margin));
    }

    [[nodiscard]] friend bool operator==(const std_source& a, const std_source& b) noexcept {
        return a.source_ == b.source_;
    }

  private:
    // Room to align the block and to store the pointer; 0 if a unit is aligned enough.
    [[nodiscard]] static constexpr std::size_t margin_of(std::size_t alignment) noexcept {
        return alignment <= alignof(unit) ? 0 : alignment + sizeof(unit*);
    }
    [[nodiscard]] static constexpr std::size_t units_of(std::size_t bytes) noexcept {
        return (bytes + (bytes == 0) + sizeof(unit) - 1) / sizeof(unit);
    }

    // Returns: the block's address within the allocator's memory.
    [[nodiscard]] static void* block_in(unit* base, std::size_t alignment) noexcept {
        if (margin_of(alignment) == 0) return base;
        char* const first = reinterpret_cast<char*>(base) + sizeof(unit*);
        char* const block = first + detail::padding_to(first, alignment);
        *reinterpret_cast<unit**>(block - sizeof(unit*)) = base;
        return block;
    }

    [[nodiscard]] unit* try_units(std::size_t count) noexcept {
#if defined(__cpp_exceptions)
        try {
            return detail::allocate_at_address(source_, count);
        } catch (...) {
            detail::kept_exception::keep();
            return nullptr;
        }
#else
        return detail::allocate_at_address(source_, count);
#endif
    }

    [[no_unique_address]] allocator source_;
};

}  // namespace millpond::inline MILLPOND_ABI
