// SPDX-License-Identifier: BSL-1.0
// chunk_sizes: the sizes of the chunks that a chunk cache keeps, each in a bin of its own.
//
//   1 2 3 4 5 6 7 8 KiB │ 10 12 14 16 │ 20 24 28 32 │ … │ 20 24 28 32 MiB      every KiB first, then four an octave
//
// Above 32 KiB each chunk is one line (64 bytes) longer. Allocators ask for a block of a round size and a record of it;
// without the line every such chunk would be of the next larger size.
//
// Three kinds of request have no bin, because they are rare or not worth keeping: smaller and larger ones, those
// aligned to more than 64, and those of less than 4 KiB aligned to more than 16. Chunks below 4 KiB are aligned as
// malloc aligns, because the aligned form of operator new leaves a gap before each, and a thousand pools of 1 KiB would
// lie further apart. O(1), arithmetic only. Thread-safe: there is no state.
//
// Example:
//     static_assert(millpond::detail::chunk_sizes::bytes_of(millpond::detail::chunk_sizes::bin_of(5000, 16)) == 5120);
//     static_assert(millpond::detail::chunk_sizes::bin_of(100, 16) == millpond::detail::chunk_sizes::count);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/four_an_octave.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

struct chunk_sizes {
    static constexpr std::size_t smallest = 1024;
    static constexpr std::size_t largest_alignment = 64;  // of chunks of …
    static constexpr std::size_t smallest_aligned = 4096;
    static constexpr std::size_t largest_round = std::size_t{32} << 10;  // larger ones are longer by …
    static constexpr std::size_t line_bytes = 64;
    static constexpr std::size_t largest = (std::size_t{32} << 20) + line_bytes;

  private:
    using scheme = four_an_octave<largest - line_bytes, smallest>;

  public:
    static constexpr unsigned count = scheme::count;

    // Returns: the bin of the smallest chunks that fit; `count` if none does.
    [[nodiscard]] static constexpr unsigned bin_of(std::size_t bytes, std::size_t requested_alignment) noexcept {
        if (bytes < smallest || requested_alignment > alignment_of(bytes)) return count;
        const std::size_t round = bytes <= largest_round ? bytes : without_line(bytes);
        if (round <= common_bytes) return common_bin_of(round);
        return scheme::class_of(round, 1);
    }

    // True for requests that most allocators make, whose bin is one table look-up away.
    [[nodiscard]] static constexpr bool is_common(std::size_t bytes, std::size_t requested_alignment) noexcept {
        return bytes - smallest <= largest_round - smallest && requested_alignment <= alignment_of(bytes);
    }
    [[nodiscard]] static constexpr unsigned common_bin_of(std::size_t bytes) noexcept {
        return common_bins[(bytes + smallest - 1) / smallest];
    }

    // Returns: the alignment of chunks of so many bytes, and of their bin.
    [[nodiscard]] static constexpr std::size_t alignment_of(std::size_t bytes) noexcept {
        return bytes < smallest_aligned ? default_alignment : largest_alignment;
    }

    // Returns: the size of the chunks in `bin`, which must be below `count`.
    [[nodiscard]] static constexpr std::size_t bytes_of(unsigned bin) noexcept {
        const std::size_t round = scheme::bytes_of(bin);
        return round <= largest_round ? round : round + line_bytes;
    }

  private:
    [[nodiscard]] static constexpr std::size_t without_line(std::size_t bytes) noexcept {
        return bytes > largest_round + line_bytes ? bytes - line_bytes : largest_round + 1;
    }

    // A table covers the common sizes; it is faster than arithmetic.
    static constexpr std::size_t common_bytes = std::size_t{64} << 10;
    static constexpr auto common_bins = [] {
        std::array<std::uint8_t, common_bytes / smallest + 1> table{};
        for (std::size_t i = 1; i < table.size(); ++i)
            table[i] = static_cast<std::uint8_t>(scheme::class_of(i * smallest, 1));
        return table;
    }();
};

}  // namespace millpond::inline MILLPOND_ABI::detail
