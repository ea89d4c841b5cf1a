// SPDX-License-Identifier: BSL-1.0
// contender_table: the names of all contenders, what they are, and what must be installed for them.
//
//   NAME        as its users have it
//   NAME:kept   a peer whose chunks come from our chunk_cache; the table says which peers can
//
// O(contenders). Plain data.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace millpond::suites {

enum class package { none, libc, libstdcxx, boost_container, boost_pool };

struct contender_facts {
    std::string_view name;
    std::string_view allocator;
    std::string_view binding;  // type, base or none
    std::string_view source;   // default, kept or none: it has no source that could be chosen
    std::string_view kind;  // ours, pool_peer, monotonic_peer, malloc, heap_array (an array over malloc), array, ideal
    package from = package::none;
    bool can_be_kept = false;
};

// Those that this program was built with, and those that it could have been.
std::span<const contender_facts> all_contenders();
bool was_built_with(package from);
std::string_view package_name(package from);  // Debian's; empty: it is part of the suite
std::string version_of(package from);

inline constexpr std::string_view kept_suffix = ":kept";
inline constexpr std::string_view hardened_suffix = ":hardened";

}  // namespace millpond::suites
