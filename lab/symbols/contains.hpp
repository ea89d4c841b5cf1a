// SPDX-License-Identifier: BSL-1.0
// contains: tells whether a word occurs in a symbol or the name of a type. Complexity: O(text × word).
#pragma once

#include <string_view>

namespace millpond::symbols {

inline bool contains(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

}  // namespace millpond::symbols
