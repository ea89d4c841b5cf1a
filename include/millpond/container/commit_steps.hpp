// SPDX-License-Identifier: BSL-1.0
// commit_steps: how much of a reservation an array commits and populates at a time, ahead of what it writes.
//
//   data ├─ elements ─┼─ ready: populated ─┤── committed: charged, no memory yet ──┤▒▒▒▒ reserved ▒▒▒▒┤
//                     │◀─ step: memory ───▶│◀──────── at most ahead: charge ──────▶│
//
// The default step is within 3 % of the best of the curve in docs/benchmarks.md, which has four to eight times as much
// populated ahead. Give others where arrays are many and mostly empty (first = 0: no memory before the first element),
// or where pauses matter less than bytes (a step of a page). Steps double from a page to 16 KiB and are then a quarter
// of what is ready, up to `step`. Huge pages halve the time of arrays of many megabytes where the system has some at
// hand, and cost an array of a few elements 2 MiB. Plain data.
//
// Example:
//     millpond::dyn_array<int> lean(1000, millpond::commit_steps{.first = 0});
//     assert(lean.capacity() == 0);
#pragma once

#include <cstddef>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI {

struct commit_steps {
    std::size_t first = std::size_t{64} << 10;  // bytes that come with the reservation
    std::size_t step = std::size_t{64} << 10;   // bytes that are populated at once, at most
    std::size_t ahead = std::size_t{1} << 20;   // bytes that are committed at once, at most
    bool huge_pages = false;                    // asks the system for them: a step is one at least, 2 MiB
};

}  // namespace millpond::inline MILLPOND_ABI
