// SPDX-License-Identifier: BSL-1.0
// at_least_result: the result type of `allocate_at_least` in our standard allocators.
//
//   at_least_result<Pointer>   std::allocation_result<Pointer, std::size_t>   where the standard library has it (C++23)
//                              a struct with the same members                 elsewhere
//
// Compile-time only.
#pragma once

#include <cstddef>
#include <memory>

#include "../abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

#if defined(__cpp_lib_allocate_at_least)
template <class Pointer>
using at_least_result = std::allocation_result<Pointer, std::size_t>;
#else
template <class Pointer>
struct at_least_result {
    Pointer ptr;
    std::size_t count;
};
#endif

}  // namespace millpond::inline MILLPOND_ABI::detail
