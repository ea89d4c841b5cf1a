// SPDX-License-Identifier: BSL-1.0
// The table of all contenders: names, kinds, and the packages that they need.
#include "ideal.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

using frame::contender, frame::package;
using namespace frame::packages;

constexpr contender ours(std::string_view name, std::string_view source = "default", std::string_view alias = {}) {
    return {.name = name, .alias = alias, .source = source, .held_bytes = chunk_cache::held_bytes};
}

#if defined(MILLPOND_HARDENED)
// The table also lists the plain names.
constexpr contender table[] = {
    ours("multipool:hardened", "default", "multipool"),
    ours("monotonic:hardened", "default", "monotonic"),
};
#else
// A peer whose source of chunks can be chosen.
constexpr contender over_chunks(std::string_view name, std::string_view kind, const package& from) {
    return {.name = name, .kind = kind, .source = "default", .from = &from, .can_be_kept = true};
}
constexpr contender over_heap(std::string_view name, std::string_view kind, const package& from = own) {
    return {.name = name, .kind = kind, .from = &from};
}
constexpr contender ideal(std::string_view name) {
    return {.name = name, .kind = "ideal", .held_bytes = ideal_bump::held_bytes};
}

constexpr contender table[] = {
    ours("multipool"),
    ours("monotonic"),
    ours("multipool:base"),
    ours("monotonic:base"),
    ours("multipool:wink"),
    ours("monotonic:wink"),
    ours("multipool(monotonic)"),
    ours("synchronized_multipool"),
    ours("synchronized(multipool)"),
    ours("compact_pool", "none"),
    ours("suballocator", "none"),
    ours("pooled_set", "none"),
    ours("pooled", "none"),
    over_chunks("pmr_monotonic", "monotonic_peer", standard_library),
    over_chunks("pmr_pool", "pool_peer", standard_library),
    over_chunks("pmr_synchronized_pool", "pool_peer", standard_library),
    over_chunks("boost_monotonic", "monotonic_peer", boost_container),
    over_chunks("boost_pool", "pool_peer", boost_container),
    over_chunks("boost_synchronized_pool", "pool_peer", boost_container),
    over_heap("pool_alloc", "pool_peer", standard_library),
    over_heap("mt_alloc", "pool_peer", standard_library),
    over_heap("fast_pool", "pool_peer", boost_pool),
    over_heap("fast_pool_no_mutex", "pool_peer", boost_pool),
    over_chunks("multipool_2015", "pool_peer", own),
    {.name = "adapter", .kind = "pool_peer", .source = "default"},
    over_heap("malloc", "malloc", libc),
    ours("dyn_array", "none"),
    ours("dyn_array:cleared", "none"),
    over_heap("vector", "heap_array", standard_library),
    over_heap("vector:cleared", "heap_array", standard_library),
    over_heap("deque", "heap_array", standard_library),
    ours("vector_tree", "none"),
    ours("pooled_vector_tree", "none"),
    ours("ordered_set", "none"),
    ours("pooled_ordered_set", "none"),
    ours("counted_set", "none"),
    ours("pooled_counted_set", "none"),
    over_heap("rope", "tree", standard_library),
    over_heap("pb_ds_tree", "tree", standard_library),
    over_heap("set", "tree", standard_library),
    over_heap("standard", "tree", standard_library),
    over_heap("btree_set", "tree", abseil),
    over_heap("boost_set", "tree", boost_container),
    over_heap("flat_set", "tree", boost_container),
    over_heap("realloc", "heap_array"),
    over_heap("mremap", "array"),
    ideal("reserved"),
    ideal("ideal_bump"),
    ideal("ideal_free_list"),
};
#endif

}  // namespace

std::span<const contender> contenders() { return table; }

}  // namespace millpond::library
