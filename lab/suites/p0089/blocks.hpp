// SPDX-License-Identifier: BSL-1.0
// blocks: the requests of utilization and contention to allocators, and lower bounds on the memory they need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/suites/common/hidden.hpp"
#include "lab/suites/common/multipool_2015.hpp"
#include "millpond/core/four_an_octave.hpp"
#include "strategy.hpp"

namespace millpond::p0089 {

inline constexpr std::size_t block_alignment = 16;

// Returns: a block whose first byte was incremented, whatever its value.
template <class C, class Handle>
[[gnu::always_inline]] inline void* take_block(const Handle& from, std::size_t bytes) {
    void* const block = C::take(from, bytes, block_alignment);
    suites::escape(block);
    ++*static_cast<unsigned char*>(block);
    suites::escape(block);
    return block;
}

// Returns whether freed blocks of this size are never used again: those of monotonic, and those that are too large for
// a multipool and come from the monotonic beneath it.
inline bool is_never_reused(pool_kind pool, std::uint64_t bytes) noexcept {
    switch (pool) {
        case pool_kind::monotonic:
            return true;
        case pool_kind::multipool_over_monotonic:
        case pool_kind::locked_multipool_over_monotonic:
            return bytes > four_an_octave<>::largest;
        case pool_kind::multipool_2015_over_monotonic:
        case pool_kind::locked_multipool_2015_over_monotonic:
            return bytes > suites::multipool_2015::largest_bytes;
        default:
            return false;
    }
}

}  // namespace millpond::p0089
