// SPDX-License-Identifier: BSL-1.0
// in_mode: an allocator in the form of the program's mode: checked in checked mode, itself in every other.
//
//   -DMILLPOND_CHECKED   in_mode<multipool<>>  =  checked<multipool<>>      every misuse is reported with its sites
//   otherwise            in_mode<multipool<>>  =  multipool<>               nothing is added
//
// Write in_mode<A> wherever you name an allocator, and choose the mode when you build the program: with CMake by
// MILLPOND_MODE=release, checked or hardened, else by defining MILLPOND_CHECKED or MILLPOND_HARDENED. All translation
// units of a program must agree; units that disagree have different names and do not link (abi.hpp). Hardened mode is
// not a wrapper: it encodes the links in freed blocks (hardening.hpp).
//
// Compile-time only.
//
// Example:
//     millpond::in_mode<millpond::multipool<>> pool;
//     void* block = pool.allocate(24, 8);
//     pool.deallocate(block, 24, 8);
//     millpond::expect_empty(pool);  // in checked mode, a leak would be reported
#pragma once

#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "checked.hpp"

namespace millpond::inline MILLPOND_ABI {

#if defined(MILLPOND_CHECKED)
inline constexpr bool is_checked_mode = true;
template <block_source A>
using in_mode = checked<A>;
#else
inline constexpr bool is_checked_mode = false;
template <block_source A>
using in_mode = A;
#endif

// Effects: if the allocator is checked, or wraps or binds a checked one, reports live blocks as a leak.
template <class A>
void expect_empty([[maybe_unused]] A& pool) noexcept {
    if constexpr (detail::is_checked<A>) detail::checker_in(pool)->expect_empty();
}

}  // namespace millpond::inline MILLPOND_ABI
