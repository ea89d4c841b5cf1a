// SPDX-License-Identifier: BSL-1.0
// highest_bit: the largest power of two that a size or an alignment can be, on machines of any word.
#pragma once

#include <cstddef>
#include <limits>

namespace millpond::test {

inline constexpr std::size_t highest_bit = std::size_t{1} << (std::numeric_limits<std::size_t>::digits - 1);

}  // namespace millpond::test
