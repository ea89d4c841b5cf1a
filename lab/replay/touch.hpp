// SPDX-License-Identifier: BSL-1.0
// touch: the assumed use of a block by the program after its allocation.
//
//   none    nothing
//   line    a byte is written in each of its cache lines, once: the assumption of every replay, stated with its figures
//   check   the whole block is filled with a pattern of its slot, which must still be there when it is freed: a test
//
// In a block that realloc has resized, `line` writes only the new part. O(bytes / 64); check: O(bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace millpond::replay {

enum class touch : std::uint8_t { none, line, check };

inline constexpr std::uintptr_t cache_line_bytes = 64;

// Writes a byte in each cache line of [from, bytes) of the block. Masked: `block` is a scratch area of this many bytes
// (a power of two), and offsets wrap around in it.
template <std::size_t MaskedTo = 0>
inline void write_lines(void* block, std::size_t from, std::size_t bytes) noexcept {
    auto* const first = static_cast<volatile char*>(block);
    for (std::size_t at = from; at < bytes;) {
        first[MaskedTo == 0 ? at : at & (MaskedTo - 1)] = 1;
        const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(block) + at;
        at += cache_line_bytes - (address & (cache_line_bytes - 1));
    }
}

inline std::uint64_t pattern_of(std::uint32_t slot) noexcept { return (slot + 1) * 0x9E3779B97F4A7C15u; }

inline void fill(void* block, std::size_t bytes, std::uint32_t slot) noexcept {
    const std::uint64_t word = pattern_of(slot);
    auto* const to = static_cast<char*>(block);
    for (std::size_t at = 0; at < bytes; at += sizeof word)
        std::memcpy(to + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
}

// Returns whether the first `bytes` are as fill() left them.
inline bool is_filled(const void* block, std::size_t bytes, std::uint32_t slot) noexcept {
    const std::uint64_t word = pattern_of(slot);
    const auto* const from = static_cast<const char*>(block);
    for (std::size_t at = 0; at < bytes; at += sizeof word)
        if (std::memcmp(from + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word) != 0) return false;
    return true;
}

}  // namespace millpond::replay
