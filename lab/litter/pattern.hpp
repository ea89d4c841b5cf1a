// SPDX-License-Identifier: BSL-1.0
// pattern: the blocks of a littered heap, and those of them that are freed.
//
//   sizes: drawn, or a trace's allocations, deletes held back ── fraction, seed ──▶ draw ──▶ an anonymous file
//
// The same sizes, fraction and seed give the same pattern. O(blocks). Uses at most as much of a trace as
// measure::heap_litter takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::litter {

// That many blocks litter a heap: about 230 MiB.
inline constexpr std::uint64_t most_drawn = 1'000'000;

struct pattern {
    std::vector<std::uint32_t> sizes;
    std::vector<std::uint32_t> free_order;

    // The text that the library prints when it is done.
    [[nodiscard]] std::string note() const;
};

// Returns `blocks` sizes of 16 to 1024 bytes, with uniformly distributed logarithms.
std::vector<std::uint32_t> drawn_sizes(std::uint64_t blocks, std::uint64_t seed);
// Returns the sizes of a trace's allocations, up to the limit. Throws: trace::trace_error.
std::vector<std::uint32_t> traced_sizes(const std::string& trace);

// The fraction, from 0 to 1, of the blocks is freed; which ones, and their order, are random.
pattern draw(std::vector<std::uint32_t> sizes, double fraction, std::uint64_t seed);

// Returns: the descriptor of a file that holds the pattern, for the program to inherit. Throws: std::system_error.
int write_pattern(const pattern& of);

}  // namespace millpond::litter
