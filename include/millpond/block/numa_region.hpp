// SPDX-License-Identifier: BSL-1.0
// numa_region: a region whose memory is that of one node: one group of processors and the memory next to it.
//
//   thread on node 1 ─▶ multipool<numa_region>  ─▶ memory of node 1, whichever thread touches a page first
//
// Use it on a machine with several nodes for a structure that one thread builds and threads of another node use, or
// that must stay with its threads when the system moves them: one pool a node. Elsewhere take region or chunk_cache: a
// page lies on the node of the thread that first touches it anyway.
//
// Where there is one node, or the system refuses to bind, it is a region: page_source().is_bound() tells which. Never
// take more memory than the node has: see os::numa_pages.
//
// Complexity, alignment, checked mode and fork: as region; each step costs one more system call. Not thread-safe.
//
// Example:
//     using millpond::os::numa_pages;
//     millpond::multipool<millpond::numa_region> pool(1 << 20, numa_pages(numa_pages::current_node()));
//     pool.deallocate(pool.allocate(24, 8), 24, 8);
#pragma once

#include "../core/abi.hpp"
#include "../os/numa_pages.hpp"
#include "region.hpp"

namespace millpond::inline MILLPOND_ABI {

using numa_region = basic_region<os::numa_pages>;

}  // namespace millpond::inline MILLPOND_ABI
