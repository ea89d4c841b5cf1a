// SPDX-License-Identifier: BSL-1.0
// peers_boost_pool: the pools of Boost.Pool as contenders, with their default mutex and without.
//
// fast_pool_allocator takes everything from one pool for each size of T. It is made for nodes: to allocate an array it
// searches the free nodes, so workloads that allocate arrays leave it out.
#pragma once

#include <boost/pool/pool_alloc.hpp>
#include <string_view>

#include "bindings.hpp"

namespace millpond::suites {

template <class T>
using locked_fast_pool = boost::fast_pool_allocator<T>;
struct fast_pool : by_heap<locked_fast_pool> {
    static constexpr std::string_view name = "fast_pool";
};
template <class T>
using unlocked_fast_pool =
    boost::fast_pool_allocator<T, boost::default_user_allocator_new_delete, boost::details::pool::null_mutex>;
struct fast_pool_no_mutex : by_heap<unlocked_fast_pool> {
    static constexpr std::string_view name = "fast_pool_no_mutex";
    static constexpr bool is_shared = false;
};

}  // namespace millpond::suites
