// SPDX-License-Identifier: BSL-1.0
// pattern_layout: a littering pattern as it goes from millpond-litter into the program: one anonymous file.
//
//   │ pattern_head │ a size for each block │ the blocks to free, by number, in this order │
//
// The library only does what stands there: what is drawn is drawn before, so that it needs no more than malloc.
#pragma once

#include <cstdint>

namespace millpond::litter {

struct pattern_head {
    std::uint64_t blocks;
    std::uint64_t freed;
    char note[240];  // for standard error when it is done; ends with a line and a zero

    [[nodiscard]] std::uint32_t* sizes() { return reinterpret_cast<std::uint32_t*>(this + 1); }
    [[nodiscard]] std::uint32_t* free_order() { return sizes() + blocks; }
    [[nodiscard]] std::uint64_t bytes() const {
        return sizeof(pattern_head) + (blocks + freed) * sizeof(std::uint32_t);
    }
};

// The variable that holds the file's descriptor. Program and library are of one build.
inline constexpr const char* pattern_variable = "MILLPOND_LITTER";

}  // namespace millpond::litter
