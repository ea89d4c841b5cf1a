// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/module_debug.hpp"

#include <algorithm>

#include "lab/symbols/debug_file.hpp"

namespace millpond::characterise {

module_debug::module_debug(const characterisation& all)
    : all_(all), debug_(all.reader().modules().size() + 1), why_(debug_.size()), opened_(debug_.size(), 0) {}

bool module_debug::is_library_source(std::string_view file) {
    return file.find("/include/c++/") != std::string_view::npos || file.find("/c++/v1/") != std::string_view::npos;
}

// Returns the functions around a call that returns to `address`. Compilers sometimes omit the functions inlined at the
// call itself, so that only its line lies in the library. Then the functions inlined directly around it are used.
const std::vector<symbols::debug_frame>& module_debug::inlined_at(symbols::debug_info& debug, std::uint64_t address) {
    constexpr std::uint64_t near = 48;
    const std::vector<symbols::debug_frame>& own = debug.frames(address - 1);
    if (own.size() != 1 || !is_library_source(own.front().place.file)) return own;
    for (std::uint64_t away = 0; away < near; ++away) {
        const std::uint64_t at = away == 0 ? address : address - 1 - away;
        const std::vector<symbols::debug_frame>& around = debug.frames(at);
        if (around.empty() || around.back().die != own.front().die) continue;
        if (around.size() > 1) return around;
    }
    return own;
}

symbols::debug_info* module_debug::of(std::uint32_t module) {
    if (module == 0 || module >= debug_.size()) return nullptr;
    if (!opened_[module]) {
        opened_[module] = 1;
        const trace::module_record& record = all_.reader().modules()[module - 1];
        const auto& unreadable = all_.functions().unreadable();
        const bool is_other =
            std::any_of(unreadable.begin(), unreadable.end(), [&](const auto& one) { return one.path == record.path; });
        if (!is_other && record.path.starts_with('/'))
            debug_[module] = symbols::debug_info::open(symbols::module_file(record.path), why_[module]);
        if (is_other) why_[module] = "its file has gone, or is another build now: record again";
    }
    return debug_[module].get();
}

std::string module_debug::why_nothing(const trace::context_node& node) {
    if (node.module == 0 || node.module >= debug_.size()) return "its code lies in no file";
    symbols::debug_info* const debug = of(node.module);
    return debug != nullptr ? debug->why_nothing(node.offset - 1) : why_[node.module];
}

}  // namespace millpond::characterise
