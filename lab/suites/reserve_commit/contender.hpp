// SPDX-License-Identifier: BSL-1.0
// contender: what takes part in the measurements of "Reserve and commit": arrays that grow, and ways to give memory
// back.
//
// In the order of `contenders`. Plain data.
#pragma once

#include <cstddef>
#include <span>

#include "lab/suites/frame/contender.hpp"

namespace millpond::reserve_commit {

enum class contender : unsigned char {
    vector,          // the baseline
    dyn_array_2023,  // the document's own array
    dyn_array,
    deque,
    chunked,
    realloc,
    mremap,
    // Of give_back alone.
    keep,  // nothing goes back
    madv_free,
    madv_dontneed,
    decommit,  // os::pages::decommit and commit, as dyn_array gives back
};

[[nodiscard]] constexpr contender contender_at(std::size_t place) { return static_cast<contender>(place); }
inline bool is_array(std::size_t place) { return contender_at(place) < contender::keep; }
inline bool is_way_back(std::size_t place) { return !is_array(place); }
// Those whose memory comes in steps that they can be told.
inline bool has_steps(std::size_t place) {
    return contender_at(place) == contender::dyn_array || contender_at(place) == contender::dyn_array_2023;
}

std::span<const frame::contender> contenders();

}  // namespace millpond::reserve_commit
