// SPDX-License-Identifier: BSL-1.0
// strategy: what takes part in the measurements of "Reserve and commit": arrays that grow, and ways to give memory
// back.
//
// In the order of `names`. Plain data.
#pragma once

#include <cstddef>
#include <vector>

#include "lab/suites/experiment/suite.hpp"

namespace millpond::reserve_commit {

enum class strategy : unsigned char {
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

[[nodiscard]] constexpr strategy strategy_at(std::size_t place) { return static_cast<strategy>(place); }
inline bool is_array(std::size_t place) { return strategy_at(place) < strategy::keep; }
inline bool is_way_back(std::size_t place) { return !is_array(place); }
// Those whose memory comes in steps that they can be told.
inline bool has_steps(std::size_t place) {
    return strategy_at(place) == strategy::dyn_array || strategy_at(place) == strategy::dyn_array_2023;
}

const std::vector<experiment::strategy_name>& names();

}  // namespace millpond::reserve_commit
