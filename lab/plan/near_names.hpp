// SPDX-License-Identifier: BSL-1.0
// near_names: suggests similar names for a name that does not exist.
#pragma once

#include <string>
#include <vector>

namespace millpond::plan {

// Returns the most similar of `names`, best first, at most `count`: names that contain `wanted` or lie in it, and names
// that differ from it in at most a quarter of its letters. Ignores case. O(names · length²).
std::vector<std::string> near_names(const std::string& wanted, const std::vector<std::string>& names,
                                    std::size_t count = 3);

}  // namespace millpond::plan
