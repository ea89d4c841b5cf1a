// SPDX-License-Identifier: BSL-1.0
#include "workload.hpp"

#include <stdexcept>

namespace millpond::experiment {

std::int64_t point::operator[](std::string_view name) const {
    for (std::size_t i = 0; i < of->parameters.size(); ++i) {
        if (of->parameters[i].name == name) return values[i];
    }
    throw std::logic_error("no parameter " + std::string(name));
}

}  // namespace millpond::experiment
