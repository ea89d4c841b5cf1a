// SPDX-License-Identifier: BSL-1.0
// first_chunk: an option of an allocator's constructor: the bytes that its first chunk serves; later ones double.
//
//   │header│ 4000 bytes │─▶│header│   8 KiB   │─▶ …       set it if you know what one instance needs
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
