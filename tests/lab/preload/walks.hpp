// SPDX-License-Identifier: BSL-1.0
// The return addresses of a stack, from a walk and from a context, for tests that compare the two.
#pragma once

#include <cstdint>
#include <vector>

#include "preload/context_finder.hpp"

namespace millpond::test {

inline constexpr unsigned depth_max = preload::context_finder::depth_max;

// Returns the stack of a site, innermost first, by a walk without a cache.
inline std::vector<std::uintptr_t> walked(const preload::call_site& site) {
    std::vector<std::uintptr_t> addresses(depth_max);
    addresses.resize(preload::context_finder::walk_uncached(site, addresses.data(), depth_max));
    return addresses;
}

// Returns the stack of a context, innermost first.
inline std::vector<std::uintptr_t> in_tree(const preload::context_tree& tree, std::uint32_t id) {
    std::vector<std::uintptr_t> addresses;
    for (; id != 0; id = tree.at(id).parent) addresses.push_back(tree.at(id).return_address);
    return addresses;
}

}  // namespace millpond::test
