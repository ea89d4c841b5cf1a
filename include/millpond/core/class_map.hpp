// SPDX-License-Identifier: BSL-1.0
// class_map: size classes listed one by one, for example from a program's profile.
//
//   class_map<24, 40, 1000>     request  1…24 │ 25…40 │ 41…1000 │ 1001…
//                               class      0  │   1   │    2    │ none: to the block source
//
// Use it where the sizes of a program are known: with exactly those sizes as classes, nothing is lost to rounding. For
// unknown sizes, four_an_octave bounds the loss. A table with an entry for every 8 bytes up to the largest size finds
// the class. A second table leads from a class to the next one that has the alignment. O(1), one or two look-ups, no
// loop. Thread-safe: the tables are constants.
//
// Example:
//     using nodes = millpond::class_map<24, 40, 64>;
//     static_assert(nodes::bytes_of(nodes::class_of(33, 8)) == 40);
//     static_assert(nodes::bytes_of(nodes::class_of(33, 16)) == 64);  // 40 is no multiple of 16
//     static_assert(nodes::class_of(65, 8) == nodes::count);          // no class: the block source serves it
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "abi.hpp"
#include "size_class_scheme.hpp"

namespace millpond::inline MILLPOND_ABI {

template <std::size_t... Sizes>
struct class_map {
    static_assert(sizeof...(Sizes) > 0, "class_map: give at least one size");
    static_assert(((Sizes > 0 && Sizes % 8 == 0) && ...), "class_map: sizes must be multiples of 8");

    static constexpr unsigned count = sizeof...(Sizes);

    // Returns: the first class whose blocks fit the request; `count` if none does.
    [[nodiscard]] static constexpr unsigned class_of(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > largest || alignment > max_class_alignment) return count;
        const unsigned index = first_class[(bytes + 7) / 8];
        if (alignment <= common_alignment) return index;
        return next_aligned[static_cast<unsigned>(std::countr_zero(alignment)) - 4][index];
    }

    // Returns: the size of the blocks of class `index`, which must be below `count`.
    [[nodiscard]] static constexpr std::size_t bytes_of(unsigned index) noexcept { return sizes[index]; }

  private:
    static constexpr std::array<std::size_t, count> sizes{Sizes...};

    static constexpr bool is_ascending() noexcept {
        for (unsigned i = 1; i < count; ++i) {
            if (sizes[i - 1] >= sizes[i]) return false;
        }
        return true;
    }
    static_assert(is_ascending(), "class_map: sizes must be in ascending order, each once");

    // The largest power of two that divides all sizes: no block is aligned to less.
    static constexpr std::size_t common_alignment = [] {
        std::size_t bits = 0;
        for (const std::size_t size : sizes) bits |= size;
        return bits & (~bits + 1);
    }();

  public:
    static constexpr std::size_t largest = sizes[count - 1];

  private:
    static_assert(largest <= 1 << 20,
                  "class_map: the largest size must be at most 1 MiB, or the table grows too large");

    static constexpr auto first_class = [] {
        std::array<std::uint16_t, largest / 8 + 1> table{};
        unsigned index = 0;
        for (std::size_t eighths = 0; eighths < table.size(); ++eighths) {
            if (eighths * 8 > sizes[index]) ++index;
            table[eighths] = static_cast<std::uint16_t>(index);
        }
        return table;
    }();

    // For alignments of 16, 32 and 64: the first class from each class on whose size is a multiple of it.
    static constexpr auto next_aligned = [] {
        std::array<std::array<std::uint16_t, count>, 3> table{};
        for (unsigned log = 0; log < table.size(); ++log) {
            std::uint16_t next = count;
            for (unsigned index = count; index-- > 0;) {
                if (sizes[index] % (std::size_t{16} << log) == 0) next = static_cast<std::uint16_t>(index);
                table[log][index] = next;
            }
        }
        return table;
    }();
    static_assert(max_class_alignment == 64);
};

}  // namespace millpond::inline MILLPOND_ABI
