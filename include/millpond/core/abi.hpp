// SPDX-License-Identifier: BSL-1.0
// abi: the inline namespace of the mode in which a translation unit is compiled; every header opens it.
//
//   -DMILLPOND_CHECKED    millpond::mode_checked::multipool<…>     in sources: millpond::multipool<…>, as always
//   (nothing)             millpond::mode_release::multipool<…>
//   one program of both:  undefined reference to `fill(millpond::mode_checked::multipool<…>&)'
//
// The mode changes layouts and inline functions, so all translation units of a program must agree. Every name carries
// the mode, so units that disagree do not link. Modes are release, checked, hardened and checked_hardened; each also
// has a variant for AddressSanitizer and one for memcheck (MILLPOND_VALGRIND).
// The linker compares only names. It does not notice a function or class of yours that contains a pool but has none of
// our types in its signature. millpond::os has one layout in all modes, because libmillpond.a is compiled once.
//
// To declare one of our types without including its header, open the same namespace:
//     namespace millpond::inline MILLPOND_ABI { template <class Source> class my_pool; }
//
// Compile-time only.
#pragma once

#if __cplusplus <= 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG <= 201703L)
#error \
    "Millpond needs C++20: compile with -std=c++20 (MSVC: /std:c++20), in CMake target_compile_features(... cxx_std_20)"
#include <Millpond needs C++20>  // no such file: ends the compilation, where what follows would be a page of errors
#endif

#include <version>
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 16000
#error \
    "Millpond needs libc++ 16 or newer, or libstdc++ 11 or newer: this libc++ has no <memory_resource> and few ranges"
#include <Millpond needs libc++ 16>  // no such file, as above
#elif defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE < 11
#error "Millpond needs libstdc++ 11 or newer, or libc++ 16 or newer"
#include <Millpond needs libstdc++ 11>  // no such file, as above
#endif

#if defined(__SANITIZE_ADDRESS__)
#define MILLPOND_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MILLPOND_ASAN 1
#endif
#endif

#if defined(MILLPOND_ASAN)
#define MILLPOND_ABI_CHECKER ::inline with_address_sanitizer
#elif defined(MILLPOND_VALGRIND)
#define MILLPOND_ABI_CHECKER ::inline with_memcheck
#else
#define MILLPOND_ABI_CHECKER
#endif

#if defined(MILLPOND_CHECKED) && defined(MILLPOND_HARDENED)
#define MILLPOND_ABI mode_checked_hardened MILLPOND_ABI_CHECKER
#elif defined(MILLPOND_CHECKED)
#define MILLPOND_ABI mode_checked MILLPOND_ABI_CHECKER
#elif defined(MILLPOND_HARDENED)
#define MILLPOND_ABI mode_hardened MILLPOND_ABI_CHECKER
#else
#define MILLPOND_ABI mode_release MILLPOND_ABI_CHECKER
#endif

namespace millpond::inline MILLPOND_ABI {}
