// SPDX-License-Identifier: BSL-1.0
// node_contenders: who takes part where all blocks have one size: compact_pool, suballocator, and every peer for nodes.
//
// Blocks are asked for one by one, as objects of a type, through each contender's standard allocator: some peers look
// for an array among their nodes as soon as one is asked for in bytes.
#pragma once

#include "contenders.hpp"
#include "lab/suites/common/node_pools.hpp"

namespace millpond::library {

#if defined(MILLPOND_HARDENED)
using our_slots = contender_list<>;
using our_nodes = contender_list<>;
using slot_peers = contender_list<>;
#else
using our_slots = contender_list<compact_pool_of<8>>;
using our_nodes = contender_list<suballocated, compact_pool_of<40>>;
#if defined(MILLPOND_SUITE_BOOST)
using slot_peers = contender_list<malloc_heap, pool_alloc_heap, mt_alloc_heap, fast_pool, fast_pool_no_mutex, pmr_pool,
                                  pmr_synchronized_pool, boost_pool, boost_synchronized_pool>;
#else
using slot_peers = contender_list<malloc_heap, pool_alloc_heap, mt_alloc_heap, pmr_pool, pmr_synchronized_pool>;
#endif
#endif

}  // namespace millpond::library
