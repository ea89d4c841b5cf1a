// SPDX-License-Identifier: BSL-1.0
// contender: one competitor in a suite: its name, its kind, and the package that it needs.
//
//   NAME        the name that its users know
//   NAME:kept   a peer whose chunks come from Millpond's chunk_cache; the suite's table tells which peers can
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

// The package that a contender comes from, by its name in Debian, and the version that the suite is built with.
// Contenders of Boost are built in if CMake found it (MILLPOND_SUITE_BOOST).
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
    std::string_view alias = {};  // the name in a document; empty: the same
    // ours, pool_peer, monotonic_peer, malloc, heap_array (an array over malloc), array, tree, ideal, system
    std::string_view kind = "ours";
    std::string_view source = "none";  // default, or none: its source cannot be chosen
    const package* from = &packages::own;
    // Returns: the bytes that it keeps after everything was freed; null: unknown.
    std::uint64_t (*held_bytes)() = nullptr;
    bool can_be_kept = false;
};

inline constexpr std::string_view kept_suffix = ":kept";

}  // namespace millpond::frame
