// SPDX-License-Identifier: BSL-1.0
// first_chunk: an option of an allocator's constructor: how many bytes its first chunk serves; later ones double.
//
//   │header│ 4000 bytes │─▶│header│   8 KiB   │─▶ …       give what one instance is known to need
//
// Compile-time only.
//
// Example:
//     millpond::multipool<> pool(millpond::first_chunk{4000});
#pragma once

#include <cstddef>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI {

struct first_chunk {
    std::size_t bytes;
};

}  // namespace millpond::inline MILLPOND_ABI
