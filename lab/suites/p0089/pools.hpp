// SPDX-License-Identifier: BSL-1.0
// pools: the allocators of the suite as types, and the choice of a workload's code for a strategy.
//
//   chosen<Runner>(strategy)  ─▶ &Runner<C>::run, C the way to the pool: by type one for each, by base one for all
//
// The list is in the order of pool_kind, from its second on; new_delete by type is std::allocator. chosen_tried does
// the same for bindings that are compiled for only a few structures; null if not compiled. The name of a Runner must be
// unique across files: gcc 12 ignores its unnamed namespace.
#pragma once

#include <array>
#include <memory>

#include "base_pool.hpp"
#include "lab/suites/common/bindings.hpp"
#include "lab/suites/common/multipool_2015.hpp"
#include "millpond/block/new_delete.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"
#include "millpond/local/synchronized_multipool.hpp"
#include "millpond/wrap/synchronized.hpp"
#include "strategy.hpp"
#include "tried_bindings.hpp"

namespace millpond::p0089 {

template <class... Pools>
struct pool_list {};

using old_multipool = suites::multipool_2015;
using old_multipool_over_monotonic = suites::multipool_2015_over<monotonic<>>;

using local_pools =
    pool_list<monotonic<>, multipool<>, multipool<monotonic<>>, synchronized_multipool<>, synchronized<multipool<>>,
              synchronized<multipool<monotonic<>>>, old_multipool, old_multipool_over_monotonic,
              suites::locked_2015<old_multipool>, suites::locked_2015<old_multipool_over_monotonic>>;

// One allocation for many threads. A private pool has its own class, so that no code is compiled for the wrong one.
using global_heap = suites::by_heap<std::allocator>;

template <template <class> class Runner, class Base, class... Pools>
auto chosen_of(strategy by, pool_list<Pools...>) {
    static_assert(sizeof...(Pools) + 1 == pool_kinds);
    using function = decltype(&Runner<global_heap>::run);
    static constexpr std::array<function, pool_kinds> by_type = {&Runner<global_heap>::run,
                                                                 &Runner<suites::by_type<Pools>>::run...};
    return by.by_base() ? &Runner<Base>::run : by_type[static_cast<std::size_t>(by.pool)];
}

template <template <class> class Runner, class Base = by_made_base<base_pool>>
auto chosen(strategy by) {
    return chosen_of<Runner, Base>(by, local_pools{});
}

template <template <class> class Runner, class... Tried>
auto chosen_tried([[maybe_unused]] strategy by, tried_list<Tried...>) {
    decltype(&Runner<global_heap>::run) found = nullptr;
    ((by.binding == Tried::kind ? void(found = &Runner<typename Tried::way>::run) : void()), ...);
    return found;
}

}  // namespace millpond::p0089
