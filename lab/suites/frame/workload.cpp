// SPDX-License-Identifier: BSL-1.0
#include "workload.hpp"

#include <algorithm>
#include <stdexcept>

namespace millpond::frame {

std::int64_t point::operator[](std::string_view name) const {
    for (std::size_t i = 0; i < of->parameters.size(); ++i) {
        if (of->parameters[i].name == name) return values[i];
    }
    throw std::logic_error("no parameter " + std::string(name));
}

void outcome::set(std::string_view name, std::optional<double> value) {
    const auto is_named = [name](const figure& each) { return each.name == name; };
    const auto found = std::find_if(figures.begin(), figures.end(), is_named);
    if (found == figures.end()) {
        figures.push_back({std::string(name), value});
    } else {
        found->value = value;
    }
}

std::optional<double> outcome::operator[](std::string_view name) const noexcept {
    for (const figure& each : figures) {
        if (each.name == name) return each.value;
    }
    return std::nullopt;
}

}  // namespace millpond::frame
