// SPDX-License-Identifier: BSL-1.0
// refused: the errors of a container that is asked for more than it can ever hold, or for an element that does not
// exist.
//
//   too_long ─────exceptions on───▶ throw std::length_error        no_such_element ──▶ throw std::out_of_range
//            └────exceptions off──▶ one line on standard error, abort
//
// A lack of memory is handled by out_of_memory instead. Programs without exceptions call the containers' try_
// functions, and never come here. Thread-safe.
//
// Example:
//     millpond::dyn_array<int> few(3);
//     assert(few.try_push_back(1) != nullptr && few.max_size() == 3);  // a fourth push_back would be refused
#pragma once

#include <cstdio>
#include <cstdlib>

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Throws: std::length_error. `message` names the container and the request.
[[noreturn, gnu::noinline, gnu::cold]] inline void too_long(const char* message) {
#if defined(__cpp_exceptions)
    throw std::length_error(message);
#else
    std::fprintf(stderr, "millpond: %s\n", message);
    std::abort();
#endif
}

// Throws: std::out_of_range.
[[noreturn, gnu::noinline, gnu::cold]] inline void no_such_element(const char* message) {
#if defined(__cpp_exceptions)
    throw std::out_of_range(message);
#else
    std::fprintf(stderr, "millpond: %s\n", message);
    std::abort();
#endif
}

}  // namespace millpond::inline MILLPOND_ABI::detail
