// SPDX-License-Identifier: BSL-1.0
// cached_classes: the size classes of pools that threads share, numbered from 1, and a table that finds one at once.
//
//   class   1 │ 2 │ … │ 16  │ 17  │ … │ 40  │ 41  │ … │ 56  │ … │ 67  │ … │ 79  │ … │ 85
//   bytes  16 │32 │   │ 256 │ 288 │   │ 2048│ 2112│   │ 4096│   │ 8192│   │21824│   │32768
//   class_of: one load; 0 means "no class" in the map of slabs
//
//   to 2 KiB   steps of 16, from 128 on eight steps an octave
//   above      equal parts of a slab of 64 KiB, or of its first 14 or 15 pages; the rest behind the last block is
//              lost, unless it is a page that is never touched
//
// Every block suits any type, as malloc's do. Programs often ask for a little more than a power of two: sqlite3's pages
// are 4096 bytes and a header, and 15 of them fill a slab. Classes that wasted a quarter on such sizes would slow a
// program down as much as a slower malloc. Thread-safe: constants.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "preload/slab_map.hpp"

namespace millpond::preload {

// The arithmetic; it is separate because a class cannot use its own functions in its constants.
struct cached_class_steps {
    static constexpr std::size_t granule = 16;
    static constexpr unsigned exact = 8, steps = 8;
    static constexpr std::size_t stepped_bytes = 2048;
    // From here on classes are multiples of a cache line, so that requests aligned to one find a class.
    static constexpr std::size_t lines_bytes = 8192;
    static constexpr std::size_t page_bytes = slab_map::page_bytes;
    static constexpr unsigned stepped =
        exact + steps * static_cast<unsigned>(std::bit_width(stepped_bytes / granule) - std::bit_width(exact));
    // The number of equal parts, and the number of pages that they divide.
    struct division {
        std::uint8_t parts, pages;
    };
    static constexpr division divisions[] = {
        {31, 16}, {30, 16}, {29, 16}, {28, 16}, {27, 16}, {26, 16}, {25, 16}, {24, 16}, {23, 16},
        {22, 16}, {21, 16}, {20, 16}, {19, 16}, {18, 16}, {17, 16}, {16, 16}, {15, 16}, {14, 16},
        {13, 16}, {12, 16}, {11, 16}, {10, 15}, {10, 16}, {9, 15},  {9, 16},  {8, 15},  {8, 16},
        {7, 16},  {6, 15},  {6, 16},  {5, 14},  {5, 15},  {5, 16},  {4, 14},  {4, 15},  {4, 16},
        {3, 14},  {3, 15},  {3, 16},  {2, 11},  {2, 12},  {2, 13},  {2, 14},  {2, 15},  {2, 16}};
    static constexpr unsigned last = stepped + sizeof divisions / sizeof divisions[0];
    static constexpr unsigned last_packed = last - 6;

    static constexpr std::size_t bytes_of(unsigned size_class) noexcept {
        if (size_class <= exact) return size_class * granule;
        if (size_class <= stepped) {
            const unsigned above = size_class - exact - 1;
            return (above % steps + steps + 1) * granule << (above / steps);
        }
        const division its = divisions[size_class - stepped - 1];
        const std::size_t part = its.pages * page_bytes / its.parts;
        return part > lines_bytes ? part / 64 * 64 : part / granule * granule;
    }
};

struct cached_classes {
    using arithmetic = cached_class_steps;

    static constexpr unsigned count = 1 + arithmetic::last;  // with class 0
    static constexpr std::size_t largest = arithmetic::bytes_of(arithmetic::last);
    // Above this size a slab has two blocks and much waste, so callers with runs of pages use those instead.
    static constexpr std::size_t largest_packed = arithmetic::bytes_of(arithmetic::last_packed);
    static constexpr std::size_t alignment_max = 64;

    // Returns: the bytes of a class's blocks.
    [[nodiscard]] static constexpr std::size_t bytes_of(unsigned size_class) noexcept {
        return class_bytes[size_class];
    }
    // Returns: the class for `bytes`, 0 to `largest`.
    [[nodiscard, gnu::always_inline]] static unsigned class_of(std::size_t bytes) noexcept {
        return first_class[(bytes + arithmetic::granule - 1) / arithmetic::granule];
    }
    // Returns: the class whose blocks also have that alignment, a power of two up to alignment_max. 0 if none has.
    [[nodiscard]] static unsigned class_of(std::size_t bytes, std::size_t alignment) noexcept {
        unsigned each = class_of(bytes);
        while (each < count && bytes_of(each) % alignment != 0) ++each;
        return each < count ? each : 0;
    }

  private:
    static constexpr auto class_bytes = [] {
        std::array<std::uint16_t, count> table{};
        for (unsigned each = 1; each < count; ++each)
            table[each] = static_cast<std::uint16_t>(arithmetic::bytes_of(each));
        return table;
    }();
    static constexpr auto first_class = [] {
        std::array<std::uint8_t, largest / arithmetic::granule + 1> table{};
        unsigned each = 1;
        for (std::size_t granules = 0; granules < table.size(); ++granules) {
            if (granules * arithmetic::granule > arithmetic::bytes_of(each)) ++each;
            table[granules] = static_cast<std::uint8_t>(each);
        }
        return table;
    }();
};

}  // namespace millpond::preload
