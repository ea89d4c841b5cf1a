// SPDX-License-Identifier: BSL-1.0
// peer_upstream: where the peers' local allocators get their chunks in this process: operator new, unless told
// otherwise.
//
// Set before the first pool is built, and never again. Read by every constructor of a peer.
#pragma once

#include <memory_resource>

namespace millpond::suites {

inline std::pmr::memory_resource* peer_upstream = std::pmr::new_delete_resource();

}  // namespace millpond::suites
