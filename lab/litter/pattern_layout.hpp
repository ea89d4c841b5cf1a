// SPDX-License-Identifier: BSL-1.0
// pattern_layout: the anonymous file that carries a littering pattern from millpond-litter into the program.
//
//   │ pattern_head │ a size for each block │ the blocks to free, by number, in this order │
//
// The library only follows the pattern. All random draws are made before, so that it needs nothing except malloc.
#pragma once

#include <cstdint>

namespace millpond::litter {

struct pattern_head {
    std::uint64_t blocks;
    std::uint64_t freed;
    char note[240];  // printed on standard error when it is done; ends with a newline and a zero

    [[nodiscard]] std::uint32_t* sizes() { return reinterpret_cast<std::uint32_t*>(this + 1); }
    [[nodiscard]] std::uint32_t* free_order() { return sizes() + blocks; }
    [[nodiscard]] std::uint64_t bytes() const {
        return sizeof(pattern_head) + (blocks + freed) * sizeof(std::uint32_t);
    }
};

// The environment variable that holds the file's descriptor. Program and library belong to one build.
inline constexpr const char* pattern_variable = "MILLPOND_LITTER";

}  // namespace millpond::litter
