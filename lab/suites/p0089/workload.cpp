// SPDX-License-Identifier: BSL-1.0
#include "workload.hpp"

#include <stdexcept>

namespace millpond::p0089 {

std::int64_t point::operator[](std::string_view name) const {
    for (std::size_t i = 0; i < of->parameters.size(); ++i) {
        if (of->parameters[i].name == name) return values[i];
    }
    throw std::logic_error("no parameter " + std::string(name));
}

std::span<const workload* const> all_workloads() {
    static const workload* const all[] = {&structures, &locality, &utilization, &contention};
    return all;
}

}  // namespace millpond::p0089
