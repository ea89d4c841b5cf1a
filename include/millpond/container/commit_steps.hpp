// SPDX-License-Identifier: BSL-1.0
// commit_steps: the amounts of a reservation that an array commits and populates at a time, ahead of its writes.
//
//   data ├─ elements ─┼─ ready: populated ─┤── committed: charged, no memory yet ──┤▒▒▒▒ reserved ▒▒▒▒┤
//                     │◀─ step: memory ───▶│◀──────── at most ahead: charge ──────▶│
//
// The default step is within 3 % of the best of the curve in docs/results/measured/library.md, which populates four to
// eight times as much ahead. Choose others if most arrays are nearly empty (first = 0: no memory before the first
// element), or if bytes matter more than pauses (a step of a page). Steps double from a page to 16 KiB; then they are a
// quarter of the populated memory, up to `step`. Huge pages halve the time of arrays of many megabytes if the system
// has some ready, and cost an array of a few elements 2 MiB. Plain data.
//
// Example:
//     millpond::dyn_array<int> lean(1000, millpond::commit_steps{.first = 0});
//     assert(lean.capacity() == 0);
#pragma once

#include <cstddef>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI {

struct commit_steps {
    std::size_t first = std::size_t{64} << 10;  // bytes committed with the reservation
    std::size_t step = std::size_t{64} << 10;   // most bytes populated at once
    std::size_t ahead = std::size_t{1} << 20;   // most bytes committed at once
    bool huge_pages = false;                    // asks for huge pages: a step is then at least 2 MiB
};

}  // namespace millpond::inline MILLPOND_ABI
