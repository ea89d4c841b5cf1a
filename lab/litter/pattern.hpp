// SPDX-License-Identifier: BSL-1.0
// pattern: which blocks a littered heap had, and which of them were freed.
//
//   sizes: drawn, or a trace's allocations, deletes held back ── fraction, seed ──▶ draw ──▶ an anonymous file
//
// The same sizes, fraction and seed give the same pattern. O(blocks). Of a trace no more than
// measure::heap_litter takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::litter {

// By then the heap is littered: about 230 MiB.
inline constexpr std::uint64_t most_drawn = 1'000'000;

struct pattern {
    std::vector<std::uint32_t> sizes;
    std::vector<std::uint32_t> free_order;

    // What will be said when it is done.
    [[nodiscard]] std::string note() const;
};

// As many sizes of 16 to 1024 bytes, their logarithms uniform.
std::vector<std::uint32_t> drawn_sizes(std::uint64_t blocks, std::uint64_t seed);
// The sizes of a trace's allocations, until there is enough. Throws: trace::trace_error.
std::vector<std::uint32_t> traced_sizes(const std::string& trace);

// The fraction, from 0 to 1, of the blocks is freed, drawn and ordered at random.
pattern draw(std::vector<std::uint32_t> sizes, double fraction, std::uint64_t seed);

// Returns: the descriptor of a file that holds the pattern, for the program to inherit. Throws: std::system_error.
int write_pattern(const pattern& of);

}  // namespace millpond::litter
