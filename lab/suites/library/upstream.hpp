// SPDX-License-Identifier: BSL-1.0
// upstream: where the peers' local allocators get their chunks in this process: operator new, or our chunk cache.
//
//   NAME       ─▶ peer ─▶ operator new and delete        as its users have it
//   NAME:kept  ─▶ peer ─▶ resource<chunk_cache>          what it would cost if released chunks stayed, as ours do
#pragma once

#include "lab/suites/common/peer_upstream.hpp"

namespace millpond::library {

// Effects: peers take their chunks from millpond::chunk_cache from now on. Before the first pool is built.
void keep_chunks_of_peers();

}  // namespace millpond::library
