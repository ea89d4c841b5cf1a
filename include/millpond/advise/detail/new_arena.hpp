// SPDX-License-Identifier: BSL-1.0
// new_arena: an arena with a first chunk of so many bytes; 0 means the arena's own default.
#pragma once

#include <cstddef>

#include "../../core/abi.hpp"
#include "../../local/first_chunk.hpp"
#include "../../local/monotonic.hpp"
#include "../../wrap/in_mode.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <std::size_t FirstBytes>
struct new_arena {
    in_mode<monotonic<>> arena{first_chunk{FirstBytes}};
};
template <>
struct new_arena<0> {
    in_mode<monotonic<>> arena{};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
