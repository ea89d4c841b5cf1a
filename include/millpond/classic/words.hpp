// SPDX-License-Identifier: BSL-1.0
// words: the format of a classic allocator's tags and links: the machine's words, or those of 1993.
//
//                   word      a link is                    blocks are aligned to
//   pointer_words   pointer   an address                   two words: 16, or 8 in a 32-bit program
//   offset_words    4 bytes   a distance from the base     4, the document's machines
//
// The paper measured 32-bit programs: two tags are 8 bytes there, a third of a 24-byte object. offset_words are that
// layout, byte by byte, on a 64-bit machine; a heap of them ends below 4 GiB. In a 32-bit program pointer_words are
// also words of 4 bytes and links are addresses, as in the paper's programs.
//
// All functions are O(1). Thread-safe: there is no state. Source: Grunwald, Zorn and Henderson 1993, section 2.1.
//
// Example:
//     millpond::classic::first_fit<millpond::classic::offset_words> as_in_1993;
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

struct pointer_words {
    using word = std::uintptr_t;
    // The alignment that malloc's callers expect. On i386, alignof(std::max_align_t) is 16, for types that few programs
    // have.
    static constexpr std::size_t alignment = 2 * sizeof(word);
    static constexpr std::size_t most_heap_bytes = std::numeric_limits<std::size_t>::max();

    [[nodiscard]] static word link(const std::byte*, const std::byte* target) noexcept {
        return reinterpret_cast<word>(target);
    }
    [[nodiscard]] static std::byte* follow(std::byte*, word link) noexcept {
        return reinterpret_cast<std::byte*>(link);
    }
};

struct offset_words {
    using word = std::uint32_t;
    static constexpr std::size_t alignment = sizeof(word);
    static constexpr std::size_t most_heap_bytes = std::numeric_limits<word>::max() - (word{64} << 10);

    [[nodiscard]] static word link(const std::byte* base, const std::byte* target) noexcept {
        return static_cast<word>(target - base);
    }
    [[nodiscard]] static std::byte* follow(std::byte* base, word link) noexcept { return base + link; }
};

}  // namespace millpond::inline MILLPOND_ABI::classic
