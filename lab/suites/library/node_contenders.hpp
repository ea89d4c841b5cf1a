// SPDX-License-Identifier: BSL-1.0
// node_contenders: the contenders for blocks of one size: compact_pool, suballocator, and every peer for nodes.
//
// Blocks are allocated one by one, as objects of a type, through each contender's standard allocator: some peers search
// their nodes for an array if they are asked for bytes.
#pragma once

#include "contenders.hpp"
#include "lab/suites/common/node_pools.hpp"

namespace millpond::library {

using our_slots = contender_list<compact_pool_of<8>>;
using our_nodes = contender_list<suballocated, compact_pool_of<40>, pooled_numbers>;
using slot_peers = contender_list<heap_peers, node_peers, std_pools, std_shared, boost_pools, boost_shared>;

}  // namespace millpond::library
