// SPDX-License-Identifier: BSL-1.0
// exact_spacing: a size class for every multiple of Spacing up to Largest.
//
//   │8│16│24│32│40│48│ … │Largest│      (Spacing 8)
//
// Use it where small sizes dominate and traversal time depends on density. It has many classes, so a freed block serves
// few other sizes; where sizes vary widely, four_an_octave reuses more.
//
// O(1), one shift. Thread-safe: there is no state.
//
// Example:
//     using classes = millpond::exact_spacing<8, 512>;
//     static_assert(classes::bytes_of(classes::class_of(100, 4)) == 104);
#pragma once

#include <cstddef>

#include "abi.hpp"
#include "detail/alignment.hpp"
#include "size_class_scheme.hpp"

namespace millpond::inline MILLPOND_ABI {

template <std::size_t Spacing = 8, std::size_t Largest = 1024>
struct exact_spacing {
    static_assert(detail::is_power_of_two(Spacing) && Spacing >= 8,
                  "exact_spacing: Spacing must be a power of two, at least 8");
    static_assert(Largest % Spacing == 0 && Largest % max_class_alignment == 0 && Largest > 0,
                  "exact_spacing: Largest must be a multiple of Spacing and of 64");

    static constexpr std::size_t largest = Largest;
    static constexpr bool aligns_by_rounding = true;
    static constexpr unsigned count = static_cast<unsigned>(Largest / Spacing);

    // Returns: the first class whose blocks fit the request; `count` if none does.
    [[nodiscard]] static constexpr unsigned class_of(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > largest || alignment > max_class_alignment) return count;
        return static_cast<unsigned>((detail::align_up(bytes + (bytes == 0), alignment) - 1) / Spacing);
    }

    // Returns: the size of the blocks of class `index`, which must be below `count`.
    [[nodiscard]] static constexpr std::size_t bytes_of(unsigned index) noexcept { return (index + 1) * Spacing; }
};

}  // namespace millpond::inline MILLPOND_ABI
