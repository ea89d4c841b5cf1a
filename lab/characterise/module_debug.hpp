// SPDX-License-Identifier: BSL-1.0
// module_debug: the debug information of a trace's modules, opened when it is first asked for.
//
//   module ─▶ its file, if it is the build that was recorded ─▶ debug_info, or why there is none
//
// Not thread-safe. Memory: the indexes of the units that are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab/characterise/characterisation.hpp"
#include "lab/symbols/debug_info.hpp"

namespace millpond::characterise {

class module_debug {
  public:
    explicit module_debug(const characterisation& all);

    // Null where there is none: why() has the reason.
    symbols::debug_info* of(std::uint32_t module);
    // The reason why nothing is known of a frame, as a half-sentence with what to do.
    std::string why_nothing(const trace::context_node& node);

    // The functions around a call that returns to `address`, the innermost first.
    static const std::vector<symbols::debug_frame>& inlined_at(symbols::debug_info& debug, std::uint64_t address);
    // Returns: true if a file is a header of the C++ library.
    static bool is_library_source(std::string_view file);

  private:
    const characterisation& all_;
    std::vector<std::unique_ptr<symbols::debug_info>> debug_;  // by module id
    std::vector<std::string> why_;                             // a module has none
    std::vector<char> opened_;
};

}  // namespace millpond::characterise
