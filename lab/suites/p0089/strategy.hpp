// SPDX-License-Identifier: BSL-1.0
// strategy: allocator × binding × disposal; P0089R0's fourteen strategies are among these combinations.
//
//   multipool(monotonic):base:wink      new_delete cannot wink out; every other allocator has four strategies
//   multipool:type_called:destroy       a binding that tests the cause of an anomaly: only for multipool, and
//                                       only for the structures that show the anomaly
//   AS1 … AS14, AS7s … AS14s            aliases: the paper's labels (section 4), and those with a lock around the pool
//   AS7-2015 …, AS7s-2015 …             the same with multipools as of 2015 (multipool_2015.hpp)
//
// The paper measured AS7s-2015 … AS14s-2015 in Benchmarks I and II, AS7-2015 … AS14-2015 in III and IV.
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
    multipool_2015_over_monotonic,
    locked_multipool_2015,
    locked_multipool_2015_over_monotonic,
};
inline constexpr std::size_t pool_kinds = 11;

// type and base are the paper's; each of the others differs from one of them in one detail (tried_bindings.hpp).
enum class binding_kind : unsigned char {
    type,
    base,
    type_called,     // allocates by a call that is not inlined
    type_padded,     // its handle, and so every container, is one pointer larger
    type_written,    // writes a byte of every block that it hands out
    base_may_throw,  // copies of its handle are not noexcept
    base_copied,     // moves of containers in containers are not noexcept
};
inline constexpr std::size_t binding_kinds = 7;

struct strategy {
    pool_kind pool = pool_kind::new_delete;
    binding_kind binding = binding_kind::type;
    bool winks = false;

    [[nodiscard]] bool operator==(const strategy&) const = default;
    [[nodiscard]] constexpr bool by_base() const noexcept {
        return binding == binding_kind::base || binding == binding_kind::base_may_throw ||
               binding == binding_kind::base_copied;
    }
    // Returns whether every workload is compiled for it.
    [[nodiscard]] constexpr bool is_usual() const noexcept {
        return binding == binding_kind::type || binding == binding_kind::base;
    }
    [[nodiscard]] constexpr bool is_local() const noexcept { return pool != pool_kind::new_delete; }
    // Returns whether any thread may use the pool, and free blocks of another one.
    [[nodiscard]] constexpr bool is_shared() const noexcept {
        switch (pool) {
            case pool_kind::monotonic:
            case pool_kind::multipool:
            case pool_kind::multipool_over_monotonic:
            case pool_kind::multipool_2015:
            case pool_kind::multipool_2015_over_monotonic:
                return false;
            default:
                return true;
        }
    }
    [[nodiscard]] constexpr bool is_of_2015() const noexcept { return pool >= pool_kind::multipool_2015; }
};

// Returns the canonical name, as in docs/design.md, Words.
std::string name_of(strategy named);
// Returns the paper's label, or nothing.
std::string alias_of(strategy named);
const std::vector<strategy>& all_strategies();

}  // namespace millpond::p0089
