// SPDX-License-Identifier: BSL-1.0
// allocation_names: the only place that defines which names mean "this function only allocates".
//
// Such a function (xmalloc, g_strdup, Perl_safesysmalloc, pool_allocator<T>::allocate) owns nothing: its allocations
// belong to its caller. The tables are in allocation_names.cpp. A wrong entry merges a subsystem into its callers; a
// missing one collects many subsystems under one wrapper, which `--group` can rename but not split.
#pragma once

#include <string_view>

namespace millpond::symbols {

// Returns whether a free function with this unqualified name only allocates.
bool is_allocation_function(std::string_view name) noexcept;

// Returns whether a member function only allocates, by its own name and its unqualified class.
bool is_allocation_member(std::string_view name, std::string_view type) noexcept;

}  // namespace millpond::symbols
