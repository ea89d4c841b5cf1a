// SPDX-License-Identifier: BSL-1.0
// upstream: where the peers' local allocators get their chunks in this process: operator new, or our chunk cache.
//
//   NAME       ─▶ peer ─▶ operator new and delete        as its users have it
//   NAME:kept  ─▶ peer ─▶ resource<chunk_cache>          what it would cost if released chunks stayed, as ours do
//
// Set before the first pool is built, and never again. Read by every constructor of a peer.
#pragma once

#include <memory_resource>

namespace millpond::suites {

inline std::pmr::memory_resource* peer_upstream = std::pmr::new_delete_resource();

// Effects: peers take their chunks from millpond::chunk_cache from now on.
void keep_chunks_of_peers();

}  // namespace millpond::suites
