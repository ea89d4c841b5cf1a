// SPDX-License-Identifier: BSL-1.0
// alignment: the arithmetic of addresses and sizes that every allocator here uses.
//
//   address ─┐ padding ┌─ align_up(address, 16)
//            ▼▒▒▒▒▒▒▒▒▒▼
//   ───┬─────┬─────────┬───────────────
//      0     │7        │16
//
// Alignments are powers of two everywhere in Millpond; nothing checks that again on a hot path.
// All functions are constexpr, O(1), and free of undefined overflow. Thread-safe: there is no state.
//
// Example:
//     static_assert(millpond::detail::align_up(13, 8) == 16);
//     static_assert(millpond::detail::natural_alignment(48) == 16);  // so is each block of 48 in a row
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "../abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The largest size of one block. Larger requests fail before any arithmetic could wrap.
inline constexpr std::size_t max_bytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());

// The alignment that `operator new` and every chunk have by default.
inline constexpr std::size_t default_alignment = alignof(std::max_align_t);

[[nodiscard]] constexpr bool is_power_of_two(std::size_t value) noexcept {
    return value != 0 && (value & (value - 1)) == 0;
}

// Returns: the smallest multiple of `alignment` that is at least `value`; `value` must be at most SIZE_MAX - alignment
// + 1.
[[nodiscard]] constexpr std::size_t align_up(std::size_t value, std::size_t alignment) noexcept {
    return (value + alignment - 1) & ~(alignment - 1);
}

// Returns: the bytes between `address` and the next multiple of `alignment`, without forming that address.
[[nodiscard]] constexpr std::size_t padding_to(std::uintptr_t address, std::size_t alignment) noexcept {
    return static_cast<std::size_t>(0 - address) & (alignment - 1);
}

// Returns: the bytes between `pointer` and the next multiple of `alignment`.
[[nodiscard]] inline std::size_t padding_to(const void* pointer, std::size_t alignment) noexcept {
    return padding_to(reinterpret_cast<std::uintptr_t>(pointer), alignment);
}

[[nodiscard]] inline bool is_aligned(const void* pointer, std::size_t alignment) noexcept {
    return padding_to(pointer, alignment) == 0;
}

// Returns: the largest power of two that divides `bytes` (not 0): the alignment of every block in a row of such blocks.
[[nodiscard]] constexpr std::size_t natural_alignment(std::size_t bytes) noexcept { return bytes & (0 - bytes); }

}  // namespace millpond::inline MILLPOND_ABI::detail
