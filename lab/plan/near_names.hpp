// SPDX-License-Identifier: BSL-1.0
// near_names: for a name that is not there, those that its writer may have meant.
#pragma once

#include <string>
#include <vector>

namespace millpond::plan {

// The most similar of `names`, best first, at most `count`: those that contain `wanted` or lie in it, and those that
// differ from it in a quarter of its letters at most. Case does not count. O(names · length²).
std::vector<std::string> near_names(const std::string& wanted, const std::vector<std::string>& names,
                                    std::size_t count = 3);

}  // namespace millpond::plan
