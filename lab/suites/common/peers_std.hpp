// SPDX-License-Identifier: BSL-1.0
// peers_std: the allocators of the standard library, and those that libstdc++ adds, as contenders.
//
// The local ones take their chunks from peer_upstream. pool_alloc, mt_alloc and malloc_alloc are one heap each, and are
// compiled with libstdc++ only (MILLPOND_SUITE_LIBSTDCXX).
#pragma once

#include <memory>
#include <memory_resource>
#include <string_view>

// Any standard header tells whether the library is libstdc++.
#if defined(__GLIBCXX__)
#define MILLPOND_SUITE_LIBSTDCXX
#include <ext/malloc_allocator.h>
#include <ext/mt_allocator.h>
#include <ext/pool_allocator.h>
#endif

#include "bindings.hpp"
#include "peer_upstream.hpp"

namespace millpond::suites {

// A resource whose constructor takes the source of its chunks.
template <class Resource>
struct over_upstream : Resource {
    over_upstream() : Resource(peer_upstream) {}
    over_upstream(void* buffer, std::size_t bytes) : Resource(buffer, bytes, peer_upstream) {}
};

struct pmr_pool : by_pmr<over_upstream<std::pmr::unsynchronized_pool_resource>> {
    static constexpr std::string_view name = "pmr_pool";
};
struct pmr_synchronized_pool : by_pmr<over_upstream<std::pmr::synchronized_pool_resource>> {
    static constexpr std::string_view name = "pmr_synchronized_pool";
    static constexpr bool is_shared = true;
};

struct malloc_heap : by_heap<std::allocator> {
    static constexpr std::string_view name = "malloc";
};
#if defined(MILLPOND_SUITE_LIBSTDCXX)
template <class T>
using malloc_alloc = __gnu_cxx::malloc_allocator<T>;
struct malloc_alloc_heap : by_heap<malloc_alloc> {
    static constexpr std::string_view name = "malloc_alloc";
};
template <class T>
using pool_alloc = __gnu_cxx::__pool_alloc<T>;
struct pool_alloc_heap : by_heap<pool_alloc> {
    static constexpr std::string_view name = "pool_alloc";
};
template <class T>
using mt_alloc = __gnu_cxx::__mt_alloc<T>;
struct mt_alloc_heap : by_heap<mt_alloc> {
    static constexpr std::string_view name = "mt_alloc";
};
#endif

}  // namespace millpond::suites
