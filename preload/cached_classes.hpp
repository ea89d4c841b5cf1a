// SPDX-License-Identifier: BSL-1.0
// cached_classes: the size classes of pools that threads share, numbered from 1, and a table that finds one at once.
//
//   class   1 │ 2 │ … │ 16  │ 17  │ … │ 72            class_of: one load; 0 means "no class" in the map of slabs
//   bytes  16 │32 │   │ 256 │ 288 │   │ 32 KiB        steps of 16, from 128 on eight steps an octave
//
// Every block suits any type, as malloc's do. Eight steps and not four: programs ask for a little more than a power of
// two (sqlite3's pages are 4096 bytes and a header), and a quarter more memory cannot be told from a slower malloc.
// Thread-safe: constants.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace millpond::preload {

// The arithmetic, apart because a class cannot use its own functions in its constants.
struct cached_class_steps {
    static constexpr std::size_t largest = std::size_t{32} << 10;
    static constexpr std::size_t granule = 16;
    static constexpr unsigned exact = 8, steps = 8;
    // From 1 KiB on, classes are multiples of 128.
    static constexpr std::size_t fine_bytes = 1024, coarse = 128;
    static constexpr std::size_t coarse_offset = fine_bytes / granule;

    [[gnu::always_inline]] static constexpr std::size_t place_of(std::size_t bytes) noexcept {
        return bytes <= fine_bytes ? (bytes + granule - 1) / granule : coarse_offset + (bytes + coarse - 1) / coarse;
    }
    static constexpr std::size_t bytes_of(unsigned size_class) noexcept {
        if (size_class <= exact) return size_class * granule;
        const unsigned above = size_class - exact - 1;
        return (above % steps + steps + 1) * granule << (above / steps);
    }
};

struct cached_classes {
    using arithmetic = cached_class_steps;

    static constexpr std::size_t largest = arithmetic::largest;
    static constexpr std::size_t alignment_max = 64;
    // With class 0.
    static constexpr unsigned count =
        1 + arithmetic::exact +
        arithmetic::steps *
            static_cast<unsigned>(std::bit_width(largest / arithmetic::granule) - std::bit_width(arithmetic::exact));

    // Returns: the bytes of a class's blocks.
    [[nodiscard]] static constexpr std::size_t bytes_of(unsigned size_class) noexcept {
        return arithmetic::bytes_of(size_class);
    }
    // Returns: the class for `bytes`, 0 to `largest`.
    [[nodiscard, gnu::always_inline]] static unsigned class_of(std::size_t bytes) noexcept {
        return first_class[arithmetic::place_of(bytes)];
    }
    // Returns: the class whose blocks have that alignment too: a power of two, up to alignment_max. 0 if none has.
    [[nodiscard]] static unsigned class_of(std::size_t bytes, std::size_t alignment) noexcept {
        unsigned each = class_of(bytes);
        while (each < count && bytes_of(each) % alignment != 0) ++each;
        return each < count ? each : 0;
    }

  private:
    static constexpr auto first_class = [] {
        std::array<std::uint8_t, arithmetic::coarse_offset + largest / arithmetic::coarse + 1> table{};
        unsigned each = 1;
        for (std::size_t bytes = 0; bytes <= largest; bytes += arithmetic::granule) {
            if (bytes > arithmetic::bytes_of(each)) ++each;
            table[arithmetic::place_of(bytes)] = static_cast<std::uint8_t>(each);
        }
        return table;
    }();
};

static_assert(cached_classes::bytes_of(cached_classes::count - 1) == cached_classes::largest);

}  // namespace millpond::preload
