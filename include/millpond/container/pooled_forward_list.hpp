// SPDX-License-Identifier: BSL-1.0
// pooled_forward_list: std::forward_list with a pool inside; see pooled.hpp.
//
// Example:
//     millpond::pooled_forward_list<int> a{1, 3}, b{2};
//     a.merge(b);
//     assert(b.empty() && *std::next(a.begin()) == 2);
#pragma once

#include <forward_list>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "detail/guides.hpp"
#include "pooled.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class T, class A, class Word>
struct pooled_traits<std::forward_list<T, A>, Word> {
    using base = std::forward_list<T, group_allocator<T, T, A, group_policy<Word, false>>>;
    static constexpr bool is_hashed = false;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class T, class A = std::allocator<T>>
class pooled_forward_list : public pooled<std::forward_list<T, A>> {
    using adaptor = pooled<std::forward_list<T, A>>;

  public:
    using adaptor::adaptor;
    using adaptor::operator=;
    pooled_forward_list(std::initializer_list<T> values) : adaptor(values) {}  // for deduction by gcc 12

    friend void swap(pooled_forward_list& a, pooled_forward_list& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

template <class It, class A = std::allocator<detail::guide_value<It>>>
    requires std::input_iterator<It> && detail::is_allocator<A>
pooled_forward_list(It, It, A = A()) -> pooled_forward_list<detail::guide_value<It>, A>;
template <class T, class A = std::allocator<T>>
    requires detail::is_allocator<A>
pooled_forward_list(std::initializer_list<T>, A = A()) -> pooled_forward_list<T, A>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range R, class A = std::allocator<std::ranges::range_value_t<R>>>
    requires detail::is_allocator<A>
pooled_forward_list(std::from_range_t, R&&, A = A()) -> pooled_forward_list<std::ranges::range_value_t<R>, A>;
#endif

}  // namespace millpond::inline MILLPOND_ABI
