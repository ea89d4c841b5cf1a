// SPDX-License-Identifier: BSL-1.0
// four_an_octave: size classes that divide every octave into four equal steps.
//
//   │8│16│24│32│40│48│56│64│ 80│ 96│112│128│ 160│ 192│ 224│ 256│ … │Largest│    (Granule 8)
//    steps of the granule    │ steps of 16    │ steps of 32       │
//
// Use it by default: rounding wastes less than a fifth of a block above 4 granules, and nothing at multiples of the
// granule up to 8 granules. With powers_of_two a freed block serves more sizes; with exact_spacing nothing is lost on
// small ones.
//
// O(1), branch-free arithmetic. Thread-safe: there is no state.
//
// Example:
//     using classes = millpond::four_an_octave<>;
//     static_assert(classes::bytes_of(classes::class_of(100, 8)) == 112);
//     static_assert(classes::bytes_of(classes::class_of(24, 16)) == 32);  // a multiple of the alignment
#pragma once

#include <bit>
#include <cstddef>

#include "abi.hpp"
#include "detail/alignment.hpp"
#include "size_class_scheme.hpp"

namespace millpond::inline MILLPOND_ABI {

template <std::size_t Largest = std::size_t{1} << 20, std::size_t Granule = 8>
struct four_an_octave {
    static_assert(detail::is_power_of_two(Granule) && Granule >= 8,
                  "four_an_octave: Granule must be a power of two, at least 8");
    static_assert(detail::is_power_of_two(Largest) && Largest >= 8 * Granule && Largest >= max_class_alignment,
                  "four_an_octave: Largest must be a power of two, at least 64 and 8 granules");

    static constexpr std::size_t largest = Largest;
    static constexpr bool aligns_by_rounding = true;
    static constexpr unsigned count = 4 * static_cast<unsigned>(std::bit_width(Largest / Granule)) - 8;

    // Returns: the first class whose blocks fit the request; `count` if none does.
    [[nodiscard]] static constexpr unsigned class_of(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > largest || alignment > max_class_alignment) return count;
        // Rounding to the alignment first lands on a class that is a multiple of it, because the steps of an octave are
        // powers of two: either the step is a multiple of the alignment, or the rounded size is itself a class.
        const std::size_t last = (detail::align_up(bytes + (bytes == 0), alignment) - 1) / Granule;
        const unsigned octave = static_cast<unsigned>(std::bit_width(last | 4)) - 3;
        return 4 * octave + static_cast<unsigned>(last >> octave);
    }

    // Returns: the size of the blocks of class `index`, which must be below `count`.
    [[nodiscard]] static constexpr std::size_t bytes_of(unsigned index) noexcept {
        if (index < 8) return (index + 1) * Granule;
        return (std::size_t{index % 4} + 5) * Granule << (index / 4 - 1);
    }
};

}  // namespace millpond::inline MILLPOND_ABI
