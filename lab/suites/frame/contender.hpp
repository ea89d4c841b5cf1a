// SPDX-License-Identifier: BSL-1.0
// contender: what takes a turn in a suite: its name, what it is, and what must be installed for it.
//
//   NAME        as its users have it
//   NAME:kept   a peer whose chunks come from our chunk_cache; the suite's table says which peers can
//
// Plain data.
#pragma once

#include <cstdint>
#include <string_view>

#include "packages.hpp"

namespace millpond::frame {

struct contender {
    std::string_view name;
    std::string_view alias = {};  // what a document calls it; empty: nothing else
    // ours, pool_peer, monotonic_peer, malloc, heap_array (an array over malloc), array, ideal, system
    std::string_view kind = "ours";
    std::string_view source = "none";  // default, or none: it has no source that could be chosen
    const package* from = &packages::own;
    // Returns: what it keeps when everything was freed; null: nothing is known of it.
    std::uint64_t (*held_bytes)() = nullptr;
    bool can_be_kept = false;
};

inline constexpr std::string_view kept_suffix = ":kept";

}  // namespace millpond::frame
