// SPDX-License-Identifier: BSL-1.0
// size_class: sizes grouped four an octave, so that sizes near one another count as one (variation, the V of DVLUC).
//
//   class  0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │ 8  │ 9  │ 10 │ 11 │ 12 │ 13 │ …
//   up to  0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │ 8  │ 10 │ 12 │ 14 │ 16 │ 20 │ …  bytes
//
// O(1), pure.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace millpond::characterise {

inline constexpr std::size_t size_class_count = 256;

// Returns the class whose upper bound is the smallest that is not below `bytes`.
constexpr std::size_t size_class_of(std::uint64_t bytes) noexcept {
    if (bytes <= 4) return static_cast<std::size_t>(bytes);
    const std::uint64_t below = bytes - 1;
    const unsigned shift = static_cast<unsigned>(std::bit_width(below)) - 3;
    return 4 * std::size_t{shift} + static_cast<std::size_t>(below >> shift) + 1;
}

// Returns the upper bound of a class; the largest integer for the last classes.
constexpr std::uint64_t size_class_bytes(std::size_t index) noexcept {
    if (index <= 4) return index;
    const std::size_t shift = (index - 5) / 4;
    const std::uint64_t quarters = (index - 1) - 4 * shift + 1;
    if (quarters >= 8 && shift >= 61) return ~std::uint64_t{0};
    return quarters << shift;
}

}  // namespace millpond::characterise
