// SPDX-License-Identifier: BSL-1.0
#include "strategy.hpp"

namespace millpond::reserve_commit {

const std::vector<experiment::strategy_name>& names() {
    static const std::vector<experiment::strategy_name> all = {
        {"vector", "std::vector"},
        {"dyn_array_2023", "DynArray"},
        {"dyn_array"},
        {"deque"},
        {"chunked"},
        {"realloc"},
        {"mremap"},
        {"keep"},
        {"madv_free", "MADV_FREE"},
        {"madv_dontneed", "MADV_DONTNEED"},
        {"decommit"},
    };
    return all;
}

}  // namespace millpond::reserve_commit
