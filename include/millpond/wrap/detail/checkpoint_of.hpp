// SPDX-License-Identifier: BSL-1.0
// checkpoint_of: the type of an allocator's checkpoints, for use inside a wrapper's own checkpoints.
//
//   checkpoint_of<monotonic<>>   monotonic<>::checkpoint_type
//   checkpoint_of<multipool<>>   an empty type: it has none
//
// Compile-time only.
#pragma once

#include <utility>

#include "../../core/abi.hpp"
#include "../../core/concepts.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class A>
struct checkpoint_choice {
    struct type {};
};
template <rewindable_allocator A>
struct checkpoint_choice<A> {
    using type = decltype(std::declval<A&>().checkpoint());
};

template <class A>
using checkpoint_of = typename checkpoint_choice<A>::type;

}  // namespace millpond::inline MILLPOND_ABI::detail
