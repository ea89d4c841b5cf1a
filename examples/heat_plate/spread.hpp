// SPDX-License-Identifier: BSL-1.0
// The computation of both forms of heat_plate; it does not depend on where a grid lies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heat_plate {

// Effects: each inner cell becomes the mean of its four neighbours and of itself, weighted 4. The cells above and
// before it have changed already, so every cell waits for the one before it.
[[gnu::noinline]] inline void spread(std::uint32_t* cells, std::uint32_t width) {
    for (std::size_t row = 1; row + 1 < width; ++row) {
        std::uint32_t before = cells[row * width];
        for (std::size_t at = row * width + 1; at + 1 < (row + 1) * width; ++at) {
            before = (4 * cells[at] + before + cells[at + 1] + cells[at - width] + cells[at + width]) / 8;
            cells[at] = before;
        }
    }
}

[[gnu::noinline]] inline std::uint64_t sum_of(const std::uint32_t* cells, std::size_t count) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum = sum * 31 + cells[i];
    return sum;
}

}  // namespace heat_plate
