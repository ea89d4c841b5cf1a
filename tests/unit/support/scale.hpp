// SPDX-License-Identifier: BSL-1.0
// scale: how much of what is random or exhaustive a test does: in `make test` a part, everywhere else all of it.
//
//   MILLPOND_SCALE=small program      the part
#pragma once

#include <cstdlib>
#include <string_view>

namespace millpond::test {

// Returns: `small` in `make test`, otherwise `full`.
template <class Number>
[[nodiscard]] Number scaled(Number full, Number small) {
    static const char* const scale = std::getenv("MILLPOND_SCALE");
    return scale != nullptr && std::string_view(scale) == "small" ? small : full;
}

}  // namespace millpond::test
