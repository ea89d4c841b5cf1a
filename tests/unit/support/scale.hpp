// SPDX-License-Identifier: BSL-1.0
// scale: the extent of random and exhaustive tests: a part in `make test`, the whole everywhere else.
//
//   MILLPOND_SCALE=small program      the part
#pragma once

#include <cstdlib>
#include <string_view>

namespace millpond::test {

// Returns `small` in `make test`, otherwise `full`.
template <class Number>
[[nodiscard]] Number scaled(Number full, Number small) {
    static const char* const scale = std::getenv("MILLPOND_SCALE");
    return scale != nullptr && std::string_view(scale) == "small" ? small : full;
}

}  // namespace millpond::test
