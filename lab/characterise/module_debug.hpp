// SPDX-License-Identifier: BSL-1.0
// module_debug: the debug information of a trace's modules, opened when it is first asked for.
//
//   module ─▶ its file, if it is the recorded build ─▶ debug_info, or the reason why it is missing
//
// Not thread-safe. Memory: the indexes of the units read.
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

    // Returns null if there is no debug information; why() has the reason.
    symbols::debug_info* of(std::uint32_t module);
    // Returns the reason why a frame has no information, as a half-sentence with a remedy.
    std::string why_nothing(const trace::context_node& node);

    // Returns the functions around a call that returns to `address`, the innermost first.
    static const std::vector<symbols::debug_frame>& inlined_at(symbols::debug_info& debug, std::uint64_t address);
    // Returns: true if a file is a header of the C++ library.
    static bool is_library_source(std::string_view file);

  private:
    const characterisation& all_;
    std::vector<std::unique_ptr<symbols::debug_info>> debug_;  // by module id
    std::vector<std::string> why_;                             // by module id: the reason for null
    std::vector<char> opened_;
};

}  // namespace millpond::characterise
