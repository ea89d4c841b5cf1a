// SPDX-License-Identifier: BSL-1.0
// allocation_names: the one place that says which names mean "this function only allocates".
//
// Such a function (xmalloc, g_strdup, Perl_safesysmalloc, pool_allocator<T>::allocate) owns nothing: what it allocates
// belongs to its caller. The tables are in allocation_names.cpp; a false entry merges a subsystem into its callers, a
// missing one collects many subsystems under one wrapper, which `--group` can mend but not split.
#pragma once

#include <string_view>

namespace millpond::symbols {

// A free function, by its unqualified name.
bool is_allocation_function(std::string_view name) noexcept;

// A member function, by its own name and its unqualified class.
bool is_allocation_member(std::string_view name, std::string_view type) noexcept;

}  // namespace millpond::symbols
