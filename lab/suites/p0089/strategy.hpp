// SPDX-License-Identifier: BSL-1.0
// strategy: allocator × binding × disposal, the product of which P0089R0's fourteen strategies are values.
//
//   multipool(monotonic):base:wink      new_delete has nothing to wink out with; of all others there are four each
//   AS1 … AS14, AS7s … AS14s            aliases: the paper's labels (section 4), and those with a lock around the pool
//
// Plain data. Names: O(strategies), for the command line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace millpond::p0089 {

// In the order of the tables in pools.hpp.
enum class pool_kind : unsigned char {
    new_delete,
    monotonic,
    multipool,
    multipool_over_monotonic,
    synchronized_multipool,
    locked_multipool,
    locked_multipool_over_monotonic,
    multipool_2015,
};
inline constexpr std::size_t pool_kinds = 8;

struct strategy {
    pool_kind pool = pool_kind::new_delete;
    bool by_base = false;
    bool winks = false;

    [[nodiscard]] bool operator==(const strategy&) const = default;
    [[nodiscard]] constexpr bool is_local() const noexcept { return pool != pool_kind::new_delete; }
    // Whether any thread may use the pool, and free what another one allocated.
    [[nodiscard]] constexpr bool is_shared() const noexcept {
        return pool == pool_kind::new_delete || pool == pool_kind::synchronized_multipool ||
               pool == pool_kind::locked_multipool || pool == pool_kind::locked_multipool_over_monotonic;
    }
};

// The canonical name, as design.md writes it.
std::string name_of(strategy named);
// The paper's label, or nothing.
std::string alias_of(strategy named);
const std::vector<strategy>& all_strategies();

}  // namespace millpond::p0089
