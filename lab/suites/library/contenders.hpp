// SPDX-License-Identifier: BSL-1.0
// contenders: all contenders of the suite, as a type for each, in lists from which the workloads choose.
//
//   std::vector<entry> found = entries<my_runner>(ours{}, pool_peers{}, …);      one function for each contender
//
// Names, kinds and packages are in contender_table.cpp. The hardened twin of the suite has only Millpond's own. CMake
// leaves out contenders whose package it did not find (MILLPOND_SUITE_BOOST).
#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#if defined(MILLPOND_SUITE_BOOST)
#include "peers_boost.hpp"
#endif

#include "adapter_pool.hpp"
#include "ideal.hpp"
#include "lab/suites/common/bindings.hpp"
#include "lab/suites/common/multipool_2015.hpp"
#include "lab/suites/common/peers_std.hpp"
#include "millpond/bind/resource.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"
#include "millpond/local/synchronized_multipool.hpp"
#include "millpond/wrap/synchronized.hpp"
#include "workload.hpp"

namespace millpond::library {

using namespace suites;

// An ideal, reached without any pointer; each fresh pool restarts it.
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

// A list of contenders, or of further lists.
template <class... Parts>
struct contender_list {};

// The same contender; its containers are dropped without destructors.
template <class C>
struct winked_binding : C {
    static constexpr bool winks = true;
};

struct multipool_by_type : by_type<multipool<>> {
    static constexpr std::string_view name = "multipool";
};
struct multipool_by_base : by_pmr<resource<multipool<>>> {
    static constexpr std::string_view name = "multipool:base";
};
struct multipool_wink : winked_binding<by_type<multipool<>>> {
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
struct monotonic_wink : winked_binding<by_type<monotonic<>>> {
    static constexpr std::string_view name = "monotonic:wink";
};

struct concurrent_multipool : by_type<synchronized_multipool<>> {
    static constexpr std::string_view name = "synchronized_multipool";
    static constexpr bool is_shared = true;
};
struct locked_multipool : by_type<synchronized<multipool<>>> {
    static constexpr std::string_view name = "synchronized(multipool)";
    static constexpr bool is_shared = true;
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
using our_winked = contender_list<multipool_wink, monotonic_wink>;
using heap_peers = contender_list<malloc_heap, pool_alloc_heap, mt_alloc_heap>;
using ideals = contender_list<static_ideal_bump, static_ideal_free_list>;
using local_ideals = contender_list<local_ideal_free_list>;
using our_shared = contender_list<concurrent_multipool, locked_multipool>;
using std_pools = contender_list<pmr_pool>;
using std_shared = contender_list<pmr_synchronized_pool>;
using other_pools = contender_list<old_multipool, foreign_pool>;
using std_monotonics = contender_list<pmr_monotonic>;
#if defined(MILLPOND_SUITE_BOOST)
using boost_pools = contender_list<boost_pool>;
using boost_shared = contender_list<boost_synchronized_pool>;
using boost_monotonics = contender_list<boost_monotonic>;
using node_peers = contender_list<fast_pool, fast_pool_no_mutex>;
using other_sets = contender_list<boost_tree>;
#else
using boost_pools = contender_list<>;
using boost_shared = contender_list<>;
using boost_monotonics = contender_list<>;
using node_peers = contender_list<>;
using other_sets = contender_list<>;
#endif
using pool_peers = contender_list<std_pools, std_shared, boost_pools, boost_shared, other_pools>;
using monotonic_peers = contender_list<std_monotonics, boost_monotonics>;
using shared_peers = contender_list<std_shared, boost_shared>;

#if defined(MILLPOND_HARDENED)
template <class C>
constexpr bool takes_part = C::name == "multipool" || C::name == "monotonic";
#else
template <class C>
constexpr bool takes_part = true;
#endif

// Runner<C>::run is the workload for contender C. The name of a Runner must be unique across files: gcc 12 ignores its
// unnamed namespace.
template <template <class> class Runner, class C>
void add_entries(std::vector<entry>& to, std::type_identity<C>) {
    if constexpr (takes_part<C>) to.push_back({C::name, &Runner<C>::run});
}
template <template <class> class Runner, class... Parts>
void add_entries(std::vector<entry>& to, std::type_identity<contender_list<Parts...>>) {
    (add_entries<Runner>(to, std::type_identity<Parts>{}), ...);
}

template <template <class> class Runner, class... Lists>
std::vector<entry> entries(Lists...) {
    std::vector<entry> found;
    add_entries<Runner>(found, std::type_identity<contender_list<Lists...>>{});
    return found;
}

}  // namespace millpond::library
