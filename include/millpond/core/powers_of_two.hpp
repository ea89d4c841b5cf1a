// SPDX-License-Identifier: BSL-1.0
// powers_of_two: size classes 8, 16, 32, … Largest.
//
//   │8│16│32│64│128│256│ … │Largest│
//
// Use it where sizes drift, as in growing vectors: a freed block serves a whole octave of later requests. Rounding
// wastes up to half of a block; with four_an_octave, a fifth.
// O(1), branch-free arithmetic. Thread-safe: there is no state.
//
// Example:
//     static_assert(millpond::powers_of_two<>::bytes_of(millpond::powers_of_two<>::class_of(100, 8)) == 128);
#pragma once

#include <bit>
#include <cstddef>

#include "abi.hpp"
#include "detail/alignment.hpp"
#include "size_class_scheme.hpp"

namespace millpond::inline MILLPOND_ABI {

template <std::size_t Largest = std::size_t{1} << 20>
struct powers_of_two {
    static_assert(detail::is_power_of_two(Largest) && Largest >= max_class_alignment,
                  "powers_of_two: Largest must be a power of two, at least 64");

    static constexpr std::size_t largest = Largest;
    static constexpr bool aligns_by_rounding = true;
    static constexpr unsigned count = static_cast<unsigned>(std::bit_width(Largest)) - 3;

    // Returns: the first class whose blocks fit the request; `count` if none does.
    [[nodiscard]] static constexpr unsigned class_of(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > largest || alignment > max_class_alignment) return count;
        const std::size_t last = detail::align_up(bytes + (bytes == 0), alignment) - 1;
        return static_cast<unsigned>(std::bit_width(last | 7)) - 3;
    }

    // Returns: the size of the blocks of class `index`, which must be below `count`.
    [[nodiscard]] static constexpr std::size_t bytes_of(unsigned index) noexcept { return std::size_t{8} << index; }
};

}  // namespace millpond::inline MILLPOND_ABI
