// SPDX-License-Identifier: BSL-1.0
// packages: what contenders come from, by the names that Debian has for it, and the versions that a suite is built
// with.
//
// Boost's are built in where CMake found them (MILLPOND_SUITE_BOOST). Plain data.
#pragma once

#include <gnu/libc-version.h>

#include <cstddef>
#include <string>
#include <string_view>

#if defined(MILLPOND_SUITE_BOOST)
#include <boost/version.hpp>
#endif

namespace millpond::frame {

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

}  // namespace packages

}  // namespace millpond::frame
