// SPDX-License-Identifier: BSL-1.0
#include "lab/plan/strategy.hpp"

#include <algorithm>
#include <array>

namespace millpond::plan {
namespace {

constexpr std::array<std::string_view, 3> names = {"multipool", "synchronized(multipool)", "monotonic"};

}  // namespace

std::string_view strategy_name(strategy named) noexcept { return names[static_cast<std::size_t>(named)]; }

std::optional<strategy> strategy_of(std::string_view name) {
    std::string compact(name);
    std::erase(compact, ' ');
    const auto found = std::find(names.begin(), names.end(), compact);
    if (found == names.end()) return std::nullopt;
    return static_cast<strategy>(found - names.begin());
}

std::string strategies_accepted() {
    std::string result;
    for (const std::string_view name : names) result.append(result.empty() ? "" : ", ").append(name);
    return result;
}

}  // namespace millpond::plan
