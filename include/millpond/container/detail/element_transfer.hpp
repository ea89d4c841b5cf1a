// SPDX-License-Identifier: BSL-1.0
// element_transfer: chooses how elements go to a container with an unequal allocator, so that all of them go or none.
//
//   moves without exceptions, no allocator inside    move each; if memory runs out, move all of them back
//   else, if it can be copied                         copy each, then erase the old ones
//   else                                             one by one
//
// Part of vector_tree and of the associative containers. Compile-time only.
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// True if elements may be made with the allocator in addition to their arguments: then their own move is not used.
template <class T, class Allocator>
inline constexpr bool might_take_allocator = std::uses_allocator_v<T, Allocator>;
template <class First, class Second, class Allocator>
inline constexpr bool might_take_allocator<std::pair<First, Second>, Allocator> =
    might_take_allocator<std::remove_cv_t<First>, Allocator> ||
    might_take_allocator<std::remove_cv_t<Second>, Allocator>;
template <class... Parts, class Allocator>
inline constexpr bool might_take_allocator<std::tuple<Parts...>, Allocator> =
    (might_take_allocator<std::remove_cv_t<Parts>, Allocator> || ...);

// True if T can be copied. Containers claim so whatever they hold, so this looks at their elements.
template <class T>
inline constexpr bool is_copyable = std::is_copy_constructible_v<T>;
template <class T>
    requires requires { typename T::value_type; } && (!std::is_same_v<T, typename T::value_type>)
inline constexpr bool is_copyable<T> = std::is_copy_constructible_v<T> && is_copyable<typename T::value_type>;

// The default for elements that were made and are not kept: they need no undo before they are destroyed.
struct nothing_to_undo {
    template <class T>
    void operator()(T&) const noexcept {}
};

}  // namespace millpond::inline MILLPOND_ABI::detail
