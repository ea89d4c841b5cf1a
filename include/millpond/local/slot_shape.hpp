// SPDX-License-Identifier: BSL-1.0
// slot_shape: the shape of a slot in a compact_pool: its bytes, its alignment, and the word whose bits mark free slots.
//
//   slot_shape<40>                      40 bytes, aligned to 8, 64 slots a word
//   slot_shape<64, 64>                  a cache line each
//   slot_shape<40, 8, std::uint32_t>    for processors whose registers have 32 bits
//
// Compile-time only.
//
// Example:
//     static_assert(millpond::slot_shape<48>::alignment == 16 && millpond::slot_shape<40>::alignment == 8);
#pragma once

#include <cstddef>
#include <cstdint>

#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

[[nodiscard]] constexpr std::size_t slot_alignment(std::size_t bytes) noexcept {
    const std::size_t natural = natural_alignment(bytes);
    return natural < default_alignment ? natural : default_alignment;
}

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <std::size_t Bytes, std::size_t Alignment = detail::slot_alignment(Bytes), class Word = std::uint64_t>
struct slot_shape {
    static_assert(Bytes > 0, "a slot must have at least one byte");
    static_assert(detail::is_power_of_two(Alignment) && Bytes % Alignment == 0,
                  "the bytes of a slot must be a multiple of its alignment");
    static_assert(Alignment <= 4096, "slots are aligned within a page");

    static constexpr std::size_t bytes = Bytes;
    static constexpr std::size_t alignment = Alignment;
    using word = Word;
};

}  // namespace millpond::inline MILLPOND_ABI
