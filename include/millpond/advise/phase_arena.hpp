// SPDX-License-Identifier: BSL-1.0
// phase_arena: a place that owns one arena for the whole process, which is reset whenever nothing in it is alive.
//
//   ┌ phase ───────────────┐        ┌ phase ─────────┐
//   │aaaaaaaaaa bbbbb ccccc│ reset  │dddd eeeeeeeeee │ reset       the same chunks again
//   live:  1 … 90 … 1 … 0 ─┘        1 … 40 …      0 ─┘
//
// Use it for work in phases, such as a frame, a file or a request, that ends with all its objects freed: allocation is
// an addition, and the phase needs no mark in the code. Do not use it if a few objects stay alive: then nothing is ever
// used again. Use scope_arena if a function's calls are the phases.
// synchronized_phase_arena is for several threads, and takes a lock for each call.
//
// FirstBytes: what the first chunk serves; 0 means the arena's own default. Chunks are kept for the next phase.
// Members: as in process_pool.hpp. pool() has live_blocks() too, the number of blocks that are alive, except the
// synchronized one. The arena is never destroyed, so static containers may use it to the end of the process; what they
// hold keeps it from being reset.
//
// allocate, deallocate: O(1), a count on top of monotonic; the reset O(chunks). phase_arena is for one thread at a
// time, whichever it is. In a child made by fork, the synchronized one works only if no thread was inside.
// Throws: make and the containers throw std::bad_alloc, and what constructors throw; then nothing leaks.
//
// Example:
//     using frame = millpond::advise::phase_arena<struct frame_tag>;
//     const void* first = nullptr;
//     for (int i = 0; i < 2; ++i) {
//         const frame::vector<int> seen(100);
//         if (i == 0) first = seen.data();
//         assert(seen.data() == first || millpond::is_checked_mode);
//     }
//     assert(frame::pool().live_blocks() == 0);
#pragma once

#include <cstddef>

#include "../core/abi.hpp"
#include "../wrap/synchronized.hpp"
#include "detail/lasting.hpp"
#include "detail/place.hpp"
#include "detail/resetting_arena.hpp"

namespace millpond::inline MILLPOND_ABI::advise {

template <class Tag, std::size_t FirstBytes = 0>
class phase_arena : public detail::pool_place<phase_arena<Tag, FirstBytes>>,
                    public detail::sized_place<phase_arena<Tag, FirstBytes>> {
  public:
    using pool_type = detail::resetting_arena;

    [[nodiscard]] static pool_type& pool() { return detail::only_pool<phase_arena, pool_type, FirstBytes>(); }
};

template <class Tag, std::size_t FirstBytes = 0>
class synchronized_phase_arena : public detail::pool_place<synchronized_phase_arena<Tag, FirstBytes>>,
                                 public detail::sized_place<synchronized_phase_arena<Tag, FirstBytes>> {
  public:
    using pool_type = synchronized<detail::resetting_arena>;

    [[nodiscard]] static pool_type& pool() {
        return detail::only_pool<synchronized_phase_arena, pool_type, FirstBytes>();
    }
};

}  // namespace millpond::inline MILLPOND_ABI::advise
