// SPDX-License-Identifier: BSL-1.0
// speed: measures how many references a second each simulator takes, each on its own and all together, on one core.
//
// The references lie in memory before the clock starts, so reading and parsing are left out. The result is the median
// of some rounds, in CPU time of this process; every round begins with empty caches. Memory: 16 bytes for each
// reference that is kept.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lab/program/json.hpp"
#include "lab/references/simulators.h"
#include "lab/simulate/reference_source.hpp"

namespace millpond::simulate {

struct speed_request {
    std::size_t references_max = std::size_t{1} << 24;
    unsigned rounds = 5;
};

// Throws program::failure (usage) if a description is wrong.
program::json speed_json(reference_source& source, const std::vector<std::string>& descriptions,
                         const millpond_rules& rules, const speed_request& request);
std::string speed_table(const program::json& speeds);

}  // namespace millpond::simulate
