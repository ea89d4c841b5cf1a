// SPDX-License-Identifier: BSL-1.0
// peer_upstream: the source of chunks for the peers' local allocators in this process: operator new, unless set
// otherwise.
//
// Set it before the first pool is built, and never again. Every constructor of a peer reads it.
#pragma once

#include <memory_resource>

namespace millpond::suites {

inline std::pmr::memory_resource* peer_upstream = std::pmr::new_delete_resource();

}  // namespace millpond::suites
