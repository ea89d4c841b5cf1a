// SPDX-License-Identifier: BSL-1.0
// node_pools: our allocators for blocks of one size as contenders: compact_pool, and the suballocator over malloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bindings.hpp"
#include "millpond/bind/suballocator.hpp"
#include "millpond/local/compact_pool.hpp"

namespace millpond::suites {

template <std::size_t SlotBytes>
struct compact_pool_of : by_type<compact_pool<SlotBytes>> {
    static constexpr std::string_view name = "compact_pool";
};

// With words of 64 or of 32 bits.
template <class Word>
struct suballocated_by : binding {
    static constexpr std::string_view name = "suballocator";
    static constexpr bool can_wink = false;
    using pool = basic_suballocator<std::allocator<char>, Word>;
    template <class T>
    using allocator = basic_suballocator<std::allocator<T>, Word>;
    template <class T>
    static allocator<T> bind(pool& p) noexcept {
        return allocator<T>(p);
    }
};
using suballocated = suballocated_by<std::uint64_t>;

}  // namespace millpond::suites
