// SPDX-License-Identifier: BSL-1.0
#include "contender_table.hpp"

#include <gnu/libc-version.h>

#if defined(MILLPOND_SUITE_BOOST)
#include <boost/version.hpp>
#endif

namespace millpond::suites {
namespace {

#if defined(MILLPOND_HARDENED)
constexpr contender_facts table[] = {
    {"multipool:hardened", "multipool", "type", "default", "ours"},
    {"monotonic:hardened", "monotonic", "type", "default", "ours"},
};
#else
constexpr contender_facts table[] = {
    {"multipool", "multipool", "type", "default", "ours"},
    {"monotonic", "monotonic", "type", "default", "ours"},
    {"multipool:base", "multipool", "base", "default", "ours"},
    {"monotonic:base", "monotonic", "base", "default", "ours"},
    {"multipool:wink", "multipool", "type", "default", "ours"},
    {"monotonic:wink", "monotonic", "type", "default", "ours"},
    {"multipool(monotonic)", "multipool(monotonic)", "type", "default", "ours"},
    {"synchronized_multipool", "synchronized_multipool", "type", "default", "ours"},
    {"synchronized(multipool)", "synchronized(multipool)", "type", "default", "ours"},
    {"compact_pool", "compact_pool", "type", "none", "ours"},
    {"suballocator", "suballocator", "type", "none", "ours"},
    {"pmr_monotonic", "pmr_monotonic", "base", "default", "monotonic_peer", package::libstdcxx, true},
    {"pmr_pool", "pmr_pool", "base", "default", "pool_peer", package::libstdcxx, true},
    {"pmr_synchronized_pool", "pmr_synchronized_pool", "base", "default", "pool_peer", package::libstdcxx, true},
    {"boost_monotonic", "boost_monotonic", "base", "default", "monotonic_peer", package::boost_container, true},
    {"boost_pool", "boost_pool", "base", "default", "pool_peer", package::boost_container, true},
    {"boost_synchronized_pool", "boost_synchronized_pool", "base", "default", "pool_peer", package::boost_container,
     true},
    {"pool_alloc", "pool_alloc", "type", "none", "pool_peer", package::libstdcxx},
    {"mt_alloc", "mt_alloc", "type", "none", "pool_peer", package::libstdcxx},
    {"fast_pool", "fast_pool", "type", "none", "pool_peer", package::boost_pool},
    {"fast_pool_no_mutex", "fast_pool_no_mutex", "type", "none", "pool_peer", package::boost_pool},
    {"multipool_2015", "multipool_2015", "type", "default", "pool_peer", package::none, true},
    {"adapter", "adapter", "type", "default", "pool_peer"},
    {"malloc", "malloc", "none", "none", "malloc", package::libc},
    {"dyn_array", "dyn_array", "none", "none", "ours"},
    {"dyn_array:cleared", "dyn_array", "none", "none", "ours"},
    {"vector", "vector", "none", "none", "heap_array", package::libstdcxx},
    {"vector:cleared", "vector", "none", "none", "heap_array", package::libstdcxx},
    {"deque", "deque", "none", "none", "heap_array", package::libstdcxx},
    {"realloc", "realloc", "none", "none", "heap_array"},
    {"mremap", "mremap", "none", "none", "array"},
    {"reserved", "reserved", "none", "none", "ideal"},
    {"ideal_bump", "ideal_bump", "type", "none", "ideal"},
    {"ideal_free_list", "ideal_free_list", "type", "none", "ideal"},
};
#endif

}  // namespace

std::span<const contender_facts> all_contenders() { return table; }

bool was_built_with(package from) {
#if defined(MILLPOND_SUITE_BOOST)
    static_cast<void>(from);
    return true;
#else
    return from != package::boost_container && from != package::boost_pool;
#endif
}

std::string_view package_name(package from) {
    switch (from) {
        case package::libc:
            return "libc6";
        case package::libstdcxx:
            return "libstdc++-12-dev";
        case package::boost_container:
            return "libboost-container-dev";
        case package::boost_pool:
            return "libboost-dev";
        case package::none:
            break;
    }
    return {};
}

std::string version_of(package from) {
    switch (from) {
        case package::libc:
            return ::gnu_get_libc_version();
        case package::libstdcxx:
            return std::to_string(_GLIBCXX_RELEASE) + " (" + std::to_string(__GLIBCXX__) + ")";
        case package::boost_container:
        case package::boost_pool:
#if defined(MILLPOND_SUITE_BOOST)
            return std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) + "." +
                   std::to_string(BOOST_VERSION % 100);
#endif
        case package::none:
            break;
    }
    return MILLPOND_VERSION;
}

}  // namespace millpond::suites
