// SPDX-License-Identifier: BSL-1.0
// malloc_usage: how the memory of a whole malloc is used at one moment, the same record for every library here.
#pragma once

#include <cstddef>

namespace millpond::preload {

struct malloc_usage {
    std::size_t blocks = 0;       // given out; a thread's cached blocks among them
    std::size_t block_bytes = 0;  // tags included
    std::size_t free_blocks = 0;
    std::size_t free_bytes = 0;
    std::size_t used_bytes = 0;  // addresses below the end of the last block
    std::size_t held_bytes = 0;  // charged to the process
};

}  // namespace millpond::preload
