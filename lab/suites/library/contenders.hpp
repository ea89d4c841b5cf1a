// SPDX-License-Identifier: BSL-1.0
// contenders: everything that takes part, as a type for each, and in lists from which the workloads choose.
//
//   std::vector<entry> found = entries<my_runner>(ours{}, pool_peers{}, …);      one function for each contender
//
// Names, kinds and packages stand in contender_table.cpp. In the hardened twin of the suite only ours are left.
// What may not be here when the suite is built is left out by what CMake found (MILLPOND_SUITE_BOOST).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#if !defined(MILLPOND_HARDENED)
#include "lab/suites/common/peers_std.hpp"
#if defined(MILLPOND_SUITE_BOOST)
#include "peers_boost.hpp"
#endif
#endif

#include "adapter.hpp"
#include "ideal.hpp"
#include "lab/suites/common/bindings.hpp"
#include "lab/suites/common/multipool_2015.hpp"
#include "millpond/bind/resource.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"
#include "workload.hpp"

namespace millpond::library {

using namespace suites;

// An ideal, reached without any pointer; a fresh pool starts it anew.
template <class Ideal>
struct by_static : binding {
    static constexpr bool can_wink = Ideal::takes_all_back;
    struct pool {
        pool() noexcept { ideal_pool<Ideal>.restart(); }
    };
    template <class T>
    using allocator = ideal_allocator<T, Ideal>;
    template <class T>
    static allocator<T> bind(pool&) noexcept {
        return {};
    }
    static Ideal* handle(pool&) noexcept { return &ideal_pool<Ideal>; }
    [[gnu::always_inline]] static void* take(Ideal* p, std::size_t bytes, std::size_t alignment) {
        return p->allocate(bytes, alignment);
    }
};

template <class... Contenders>
struct contender_list {};

// The same contender, whose containers are dropped without destructors.
template <class C>
struct winked : C {
    static constexpr bool winks = true;
};

#if defined(MILLPOND_HARDENED)
struct multipool_by_type : by_type<multipool<>> {
    static constexpr std::string_view name = "multipool:hardened";
};
struct monotonic_by_type : by_type<monotonic<>> {
    static constexpr std::string_view name = "monotonic:hardened";
    static pool in_buffer(void* memory, std::size_t bytes) { return pool(initial_buffer{memory, bytes}); }
};

using our_pools = contender_list<multipool_by_type>;
using our_monotonics = contender_list<monotonic_by_type>;
using our_winked = contender_list<>;
using pool_peers = contender_list<>;
using monotonic_peers = contender_list<>;
using heap_peers = contender_list<>;
using node_peers = contender_list<>;
using ideals = contender_list<>;
using local_ideals = contender_list<>;
#else
struct multipool_by_type : by_type<multipool<>> {
    static constexpr std::string_view name = "multipool";
};
struct multipool_by_base : by_pmr<resource<multipool<>>> {
    static constexpr std::string_view name = "multipool:base";
};
struct multipool_winked : winked<by_type<multipool<>>> {
    static constexpr std::string_view name = "multipool:wink";
};
struct multipool_over_monotonic : by_type<multipool<monotonic<>>> {
    static constexpr std::string_view name = "multipool(monotonic)";
};
struct monotonic_by_type : by_type<monotonic<>> {
    static constexpr std::string_view name = "monotonic";
    static pool in_buffer(void* memory, std::size_t bytes) { return pool(initial_buffer{memory, bytes}); }
};
struct monotonic_by_base : by_pmr<resource<monotonic<>>> {
    static constexpr std::string_view name = "monotonic:base";
    static pool in_buffer(void* memory, std::size_t bytes) { return pool(initial_buffer{memory, bytes}); }
};
struct monotonic_winked : winked<by_type<monotonic<>>> {
    static constexpr std::string_view name = "monotonic:wink";
};

struct pmr_monotonic : by_pmr<over_upstream<std::pmr::monotonic_buffer_resource>> {
    static constexpr std::string_view name = "pmr_monotonic";
    static pool in_buffer(void* memory, std::size_t bytes) { return pool(memory, bytes); }
};
struct old_multipool : by_type<multipool_2015> {
    static constexpr std::string_view name = "multipool_2015";
};
struct foreign_pool : by_type<adapter_pool> {
    static constexpr std::string_view name = "adapter";
};

struct static_ideal_bump : by_static<ideal_bump> {
    static constexpr std::string_view name = "ideal_bump";
};
struct static_ideal_free_list : by_static<ideal_free_list> {
    static constexpr std::string_view name = "ideal_free_list";
};
struct local_ideal_free_list : by_type<ideal_free_list> {
    static constexpr std::string_view name = "ideal_free_list";
};

using our_pools = contender_list<multipool_by_type, multipool_by_base, multipool_over_monotonic>;
using our_monotonics = contender_list<monotonic_by_type, monotonic_by_base>;
using our_winked = contender_list<multipool_winked, monotonic_winked>;
using heap_peers = contender_list<malloc_heap, pool_alloc_heap, mt_alloc_heap>;
using ideals = contender_list<static_ideal_bump, static_ideal_free_list>;
using local_ideals = contender_list<local_ideal_free_list>;
#if defined(MILLPOND_SUITE_BOOST)
using pool_peers =
    contender_list<pmr_pool, pmr_synchronized_pool, boost_pool, boost_synchronized_pool, old_multipool, foreign_pool>;
using monotonic_peers = contender_list<pmr_monotonic, boost_monotonic>;
using node_peers = contender_list<fast_pool, fast_pool_no_mutex>;
#else
using pool_peers = contender_list<pmr_pool, pmr_synchronized_pool, old_multipool, foreign_pool>;
using monotonic_peers = contender_list<pmr_monotonic>;
using node_peers = contender_list<>;
#endif
#endif

// Runner<C>::run is the workload for contender C. A Runner needs a name that no other file gives to one: for gcc 12 it
// has none of the unnamed namespace that it stands in.
template <template <class> class Runner, class... Contenders>
void add_entries(std::vector<entry>& to, contender_list<Contenders...>) {
    (to.push_back({Contenders::name, &Runner<Contenders>::run}), ...);
}

template <template <class> class Runner, class... Lists>
std::vector<entry> entries(Lists... lists) {
    std::vector<entry> found;
    (add_entries<Runner>(found, lists), ...);
    return found;
}

}  // namespace millpond::library
