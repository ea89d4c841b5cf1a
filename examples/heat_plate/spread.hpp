// SPDX-License-Identifier: BSL-1.0
// The computation of both forms of heat_plate: it knows nothing of where a grid lies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heat_plate {

// Effects: each inner cell of `then` becomes the mean of its four neighbours in `now` and of itself, weighted 4.
[[gnu::noinline]] inline void spread(const std::uint32_t* now, std::uint32_t* then, std::uint32_t width) {
    for (std::size_t row = 1; row + 1 < width; ++row) {
        for (std::size_t at = row * width + 1; at + 1 < (row + 1) * width; ++at) {
            then[at] = (4 * now[at] + now[at - 1] + now[at + 1] + now[at - width] + now[at + width]) / 8;
        }
    }
}

[[gnu::noinline]] inline std::uint64_t sum_of(const std::uint32_t* cells, std::size_t count) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum = sum * 31 + cells[i];
    return sum;
}

}  // namespace heat_plate
