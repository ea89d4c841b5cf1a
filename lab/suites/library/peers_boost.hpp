// SPDX-License-Identifier: BSL-1.0
// peers_boost: the pools of Boost.Container's pmr and Boost.Pool as contenders.
//
// Boost's memory_resource is not std's. Containers get Boost's own polymorphic_allocator, one virtual call; an adapter
// to std's would cost them a second one. fast_pool_allocator takes everything from one pool for each size of T; it is
// made for nodes: an array is searched for among the free nodes, so workloads that ask for arrays leave it out.
#pragma once

#include <boost/container/pmr/global_resource.hpp>
#include <boost/container/pmr/memory_resource.hpp>
#include <boost/container/pmr/monotonic_buffer_resource.hpp>
#include <boost/container/pmr/polymorphic_allocator.hpp>
#include <boost/container/pmr/synchronized_pool_resource.hpp>
#include <boost/container/pmr/unsynchronized_pool_resource.hpp>
#include <boost/pool/pool_alloc.hpp>
#include <string_view>

#include "lab/suites/common/bindings.hpp"

namespace millpond::suites {

inline boost::container::pmr::memory_resource* boost_upstream = boost::container::pmr::new_delete_resource();

template <class Resource>
struct over_boost_upstream : Resource {
    over_boost_upstream() : Resource(boost_upstream) {}
    over_boost_upstream(void* buffer, std::size_t bytes) : Resource(buffer, bytes, boost_upstream) {}
};

template <class T>
using boost_allocator = boost::container::pmr::polymorphic_allocator<T>;
template <class Resource>
using by_boost = by_base<over_boost_upstream<Resource>, boost::container::pmr::memory_resource, boost_allocator>;

struct boost_monotonic : by_boost<boost::container::pmr::monotonic_buffer_resource> {
    static constexpr std::string_view name = "boost_monotonic";
    static pool in_buffer(void* memory, std::size_t bytes) { return pool(memory, bytes); }
};
struct boost_pool : by_boost<boost::container::pmr::unsynchronized_pool_resource> {
    static constexpr std::string_view name = "boost_pool";
};
struct boost_synchronized_pool : by_boost<boost::container::pmr::synchronized_pool_resource> {
    static constexpr std::string_view name = "boost_synchronized_pool";
    static constexpr bool is_shared = true;
};

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
