// SPDX-License-Identifier: BSL-1.0
// context_counts: what is counted for each context of a trace, and where its objects count further.
#pragma once

#include <cstdint>

namespace millpond::characterise {

struct context_counts {
    std::uint32_t subsystem = 0, scope = 0;
    std::uint16_t depth = 0;
    std::uint16_t witnessed = 0;  // legality: witnesses have been offered to scopes deeper than this
    std::uint32_t outlived = 0;   // legality: row of this context; 0: none
    std::uint64_t objects = 0, bytes = 0;
};

// What of a context is live at one moment.
struct live_counts {
    std::uint64_t objects = 0, bytes = 0;
};

}  // namespace millpond::characterise
