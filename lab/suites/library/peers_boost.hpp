// SPDX-License-Identifier: BSL-1.0
// peers_boost: the pools of Boost.Container's pmr as contenders, in addition to those of Boost.Pool.
//
// Boost's memory_resource is not std's. Containers get Boost's own polymorphic_allocator, one virtual call; an adapter
// to std's would cost them a second one.
#pragma once

#include <boost/container/new_allocator.hpp>
#include <boost/container/pmr/global_resource.hpp>
#include <boost/container/pmr/memory_resource.hpp>
#include <boost/container/pmr/monotonic_buffer_resource.hpp>
#include <boost/container/pmr/polymorphic_allocator.hpp>
#include <boost/container/pmr/synchronized_pool_resource.hpp>
#include <boost/container/pmr/unsynchronized_pool_resource.hpp>
#include <boost/container/set.hpp>
#include <cstdint>
#include <functional>
#include <string_view>

#include "lab/suites/common/bindings.hpp"
#include "lab/suites/common/peers_boost_pool.hpp"

namespace millpond::library {

inline boost::container::pmr::memory_resource* boost_upstream = boost::container::pmr::new_delete_resource();

template <class Resource>
struct over_boost_upstream : Resource {
    over_boost_upstream() : Resource(boost_upstream) {}
    over_boost_upstream(void* buffer, std::size_t bytes) : Resource(buffer, bytes, boost_upstream) {}
};

template <class T>
using boost_allocator = boost::container::pmr::polymorphic_allocator<T>;
template <class Resource>
using by_boost =
    suites::by_base<over_boost_upstream<Resource>, boost::container::pmr::memory_resource, boost_allocator>;

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

// The tree of Boost.Container over operator new.
struct boost_tree : suites::binding {
    static constexpr std::string_view name = "boost_set";
    static constexpr bool can_wink = false;
    struct pool {};
    template <class T>
    using allocator = boost::container::new_allocator<T>;
    template <class T>
    static allocator<T> bind(pool&) noexcept {
        return {};
    }
    using number_set = boost::container::set<std::uint64_t, std::less<>, allocator<std::uint64_t>>;
};

}  // namespace millpond::library
