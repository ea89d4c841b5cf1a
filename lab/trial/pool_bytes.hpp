// SPDX-License-Identifier: BSL-1.0
// noted_in: keeps a pool's byte counters up to date as it takes and returns slabs.
#pragma once

#include <cstddef>

#include "lab/trial/control.hpp"
#include "lab/trial/process_words.hpp"
#include "preload/pool_slabs.hpp"

namespace millpond::trial {

// `counters`: private ones, as process_words needs.
inline preload::slab_observer noted_in(pool_counters* counters) noexcept {
    constexpr auto note = [](void* of, std::size_t held, std::size_t used) noexcept {
        pool_counters& to = counters_of_process(static_cast<pool_counters*>(of));
        to.held_bytes = held;
        to.slab_bytes_used = used;
    };
    return {note, counters};
}

}  // namespace millpond::trial
