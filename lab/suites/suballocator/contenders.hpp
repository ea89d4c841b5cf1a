// SPDX-License-Identifier: BSL-1.0
// contenders: every allocator that the document names, in today's libraries; Millpond's; and pools inside containers.
//
//   chosen<Runner, slot_bytes>(contender) ─▶ &Runner<C>::run, C the way to that allocator; names in the same order
//
// Each has one binding, and destroys: blocks are allocated one by one, and freed one by one. Boost's are compiled if
// CMake found Boost (MILLPOND_SUITE_BOOST), libstdc++'s if it is the standard library (MILLPOND_SUITE_LIBSTDCXX).
// slot_bytes: the size of every block; compact_pool is made for it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "lab/suites/common/node_pools.hpp"
#include "lab/suites/common/peers_std.hpp"
#if defined(MILLPOND_SUITE_BOOST)
#include "lab/suites/common/peers_boost_pool.hpp"
#endif
#include "lab/suites/frame/contender.hpp"
#include "lab/suites/frame/noted_new_delete.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "millpond/local/multipool.hpp"

namespace millpond::suballocator_suite {

constexpr frame::contender of_standard_library(std::string_view name, std::string_view alias, std::string_view kind,
                                               std::string_view source = "none") {
    return {.name = name, .alias = alias, .kind = kind, .source = source, .from = &frame::packages::standard_library};
}

// Each container with a pool inside, instead of an allocator for it.
inline constexpr std::string_view pooled_name = "pooled:type:destroy";

inline constexpr frame::contender contenders[] = {
    {.name = "new_delete:type:destroy", .alias = "std::allocator", .kind = "malloc", .from = &frame::packages::libc},
#if defined(MILLPOND_SUITE_BOOST)
    {.name = "fast_pool:type:destroy",
     .alias = "boost::fast_pool_allocator",
     .kind = "pool_peer",
     .from = &frame::packages::boost_pool},
    {.name = "fast_pool_no_mutex:type:destroy", .kind = "pool_peer", .from = &frame::packages::boost_pool},
#endif
#if defined(MILLPOND_SUITE_LIBSTDCXX)
    of_standard_library("malloc_alloc:type:destroy", "malloc_allocator", "malloc"),
    of_standard_library("mt_alloc:type:destroy", "mt_allocator", "pool_peer"),
    of_standard_library("pool_alloc:type:destroy", "pool_allocator", "pool_peer"),
#endif
    of_standard_library("pmr_pool:base:destroy", "", "pool_peer", "default"),
    of_standard_library("pmr_synchronized_pool:base:destroy", "", "pool_peer", "default"),
    {.name = "suballocator:type:destroy", .alias = "suballocator64"},
    {.name = "suballocator32:type:destroy", .alias = "suballocator32"},
    {.name = "compact_pool:type:destroy", .held_bytes = chunk_cache::held_bytes},
    {.name = "multipool:type:destroy", .source = "default", .held_bytes = chunk_cache::held_bytes},
    {.name = pooled_name},
};

// Returns whether it hands out blocks; a container with its pool inside does not.
inline bool is_allocator(std::size_t contender) { return contenders[contender].name != pooled_name; }

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
                              suites::by_type<multipool<>>, suites::pooled_numbers>;

// Littering runs on this: the heap of the process, which notes the requests it gets.
using noted_heap = suites::by_type<frame::noted_new_delete>;

template <template <class> class Runner, class... Contenders>
auto chosen_of(std::size_t contender, contender_list<Contenders...>) {
    static_assert(sizeof...(Contenders) == std::size(contenders));
    static constexpr std::array runs = {&Runner<Contenders>::run...};
    return runs[contender];
}

template <template <class> class Runner, std::size_t SlotBytes>
auto chosen(std::size_t contender) {
    return chosen_of<Runner>(contender, all_of<SlotBytes>{});
}

}  // namespace millpond::suballocator_suite
