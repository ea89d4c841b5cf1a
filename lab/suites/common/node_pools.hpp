// SPDX-License-Identifier: BSL-1.0
// node_pools: Millpond's pools for blocks of one size, as contenders: compact_pool, the suballocator over malloc, and
// containers with a pool inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "bindings.hpp"
#include "millpond/bind/suballocator.hpp"
#include "millpond/container/pooled_set.hpp"
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

// Containers with a pool inside, which need no allocator.
struct pooled_numbers : binding {
    static constexpr std::string_view name = "pooled_set";
    static constexpr bool can_wink = false;
    struct pool {};
    template <class T>
    using allocator = std::allocator<T>;
    template <class T>
    static allocator<T> bind(pool&) noexcept {
        return {};
    }
    using number_set = pooled_set<std::uint64_t, std::less<>>;
    template <class Container>
    using container = pooled<Container>;
};

}  // namespace millpond::suites
