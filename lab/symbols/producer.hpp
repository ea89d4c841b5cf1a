// SPDX-License-Identifier: BSL-1.0
// producer: finds the language and the standard that a unit of debug information was compiled by.
//
//   DW_AT_language 0x21, DW_AT_producer "GNU C++17 12.2.0 -mtune=generic -O2"   ─▶  C++, C++17
//   DW_AT_language 0x1d, DW_AT_producer "clang version 19.1.7"                  ─▶  C, not known
//
// gcc names the standard. clang names it only if its options are recorded (-grecord-command-line), and its number of
// the language stays at that of an older standard. Linear in the text. Thread-safe: no state.
#pragma once

#include <string_view>

#include "lab/symbols/debug_info.hpp"

namespace millpond::symbols {

source_language language_of(int dwarf_language, std::string_view producer);

}  // namespace millpond::symbols
