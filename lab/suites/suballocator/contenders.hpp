// SPDX-License-Identifier: BSL-1.0
// contenders: every allocator that the document names, in today's libraries, and ours.
//
//   chosen<Runner, slot_bytes>(strategy) ─▶ &Runner<C>::run, C the way to that allocator; names in the same order
//
// All have one binding each and destroy: blocks are asked for one by one, and freed one by one. Boost's are there where
// Boost is (MILLPOND_SUITE_BOOST), and libstdc++'s where it is the standard library (MILLPOND_SUITE_LIBSTDCXX).
// slot_bytes: the size of every block, which compact_pool is made for.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "lab/suites/common/node_pools.hpp"
#include "lab/suites/common/peers_std.hpp"
#if defined(MILLPOND_SUITE_BOOST)
#include "lab/suites/common/peers_boost_pool.hpp"
#endif
#include "lab/suites/experiment/noted_new_delete.hpp"
#include "millpond/local/multipool.hpp"

namespace millpond::suballocator_suite {

struct contender {
    std::string_view name, alias;
    bool keeps_chunks = false;  // in our chunk cache, when its pool is gone
};

inline constexpr contender contenders[] = {
    {"new_delete:type:destroy", "std::allocator"},
#if defined(MILLPOND_SUITE_BOOST)
    {"fast_pool:type:destroy", "boost::fast_pool_allocator"},
    {"fast_pool_no_mutex:type:destroy", ""},
#endif
#if defined(MILLPOND_SUITE_LIBSTDCXX)
    {"malloc_alloc:type:destroy", "malloc_allocator"},
    {"mt_alloc:type:destroy", "mt_allocator"},
    {"pool_alloc:type:destroy", "pool_allocator"},
#endif
    {"pmr_pool:base:destroy", ""},
    {"pmr_synchronized_pool:base:destroy", ""},
    {"suballocator:type:destroy", "suballocator64"},
    {"suballocator32:type:destroy", "suballocator32"},
    {"compact_pool:type:destroy", "", true},
    {"multipool:type:destroy", "", true},
};

template <class... Contenders>
struct contender_list {};

template <std::size_t SlotBytes>
using all_of = contender_list<suites::malloc_heap,
#if defined(MILLPOND_SUITE_BOOST)
                              suites::fast_pool, suites::fast_pool_no_mutex,
#endif
#if defined(MILLPOND_SUITE_LIBSTDCXX)
                              suites::malloc_alloc_heap, suites::mt_alloc_heap, suites::pool_alloc_heap,
#endif
                              suites::pmr_pool, suites::pmr_synchronized_pool, suites::suballocated,
                              suites::suballocated_by<std::uint32_t>, suites::compact_pool_of<SlotBytes>,
                              suites::by_type<multipool<>>>;

// What littering runs: the heap of the process, which notes what it is asked for.
using noted_heap = suites::by_type<experiment::noted_new_delete>;

template <template <class> class Runner, class... Contenders>
auto chosen_of(std::size_t strategy, contender_list<Contenders...>) {
    static_assert(sizeof...(Contenders) == std::size(contenders));
    static constexpr std::array runs = {&Runner<Contenders>::run...};
    return runs[strategy];
}

template <template <class> class Runner, std::size_t SlotBytes>
auto chosen(std::size_t strategy) {
    return chosen_of<Runner>(strategy, all_of<SlotBytes>{});
}

}  // namespace millpond::suballocator_suite
