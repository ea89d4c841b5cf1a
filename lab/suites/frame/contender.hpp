// SPDX-License-Identifier: BSL-1.0
// contender: what takes a turn in a suite: its name, what it is, and what must be installed for it.
//
//   NAME        as its users have it
//   NAME:kept   a peer whose chunks come from our chunk_cache; the suite's table says which peers can
//
// Plain data.
#pragma once

#include <gnu/libc-version.h>

#include <cstdint>
#include <string>
#include <string_view>

#if defined(MILLPOND_SUITE_ABSL)
#include <absl/base/config.h>
#endif
#if defined(MILLPOND_SUITE_BOOST)
#include <boost/version.hpp>
#endif

namespace millpond::frame {

// What contenders come from, by the names that Debian has for it, and the versions that a suite is built with. Boost's
// are built in where CMake found them (MILLPOND_SUITE_BOOST).
struct package {
    std::string_view name;  // empty: it is part of the suite
    std::string (*version)();
    bool is_built_in = true;
};

namespace packages {

inline constexpr package own{"", [] { return std::string(MILLPOND_VERSION); }};
inline constexpr package libc{"libc6", [] { return std::string(::gnu_get_libc_version()); }};
#if defined(_LIBCPP_VERSION)
inline constexpr package standard_library{"libc++-dev", [] { return std::to_string(_LIBCPP_VERSION); }};
#else
inline constexpr package standard_library{
    "libstdc++-12-dev", [] { return std::to_string(_GLIBCXX_RELEASE) + " (" + std::to_string(__GLIBCXX__) + ")"; }};
#endif
#if defined(MILLPOND_SUITE_BOOST)
inline std::string boost_version() {
    return std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) + "." +
           std::to_string(BOOST_VERSION % 100);
}
inline constexpr bool has_boost = true;
#else
inline std::string boost_version() { return {}; }
inline constexpr bool has_boost = false;
#endif
inline constexpr package boost_container{"libboost-container-dev", boost_version, has_boost};
inline constexpr package boost_pool{"libboost-dev", boost_version, has_boost};

#if defined(MILLPOND_SUITE_ABSL)
inline constexpr package abseil{"libabsl-dev", [] { return std::to_string(ABSL_LTS_RELEASE_VERSION); }};
#else
inline constexpr package abseil{"libabsl-dev", [] { return std::string(); }, false};
#endif

}  // namespace packages

struct contender {
    std::string_view name;
    std::string_view alias = {};  // what a document calls it; empty: nothing else
    // ours, pool_peer, monotonic_peer, malloc, heap_array (an array over malloc), array, tree, ideal, system
    std::string_view kind = "ours";
    std::string_view source = "none";  // default, or none: it has no source that could be chosen
    const package* from = &packages::own;
    // Returns: what it keeps when everything was freed; null: nothing is known of it.
    std::uint64_t (*held_bytes)() = nullptr;
    bool can_be_kept = false;
};

inline constexpr std::string_view kept_suffix = ":kept";

}  // namespace millpond::frame
