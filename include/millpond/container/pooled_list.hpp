// SPDX-License-Identifier: BSL-1.0
// pooled_list: std::list with a pool inside; see pooled.hpp.
//
// Example:
//     millpond::pooled_list<int> a{1, 2, 3}, b{4};
//     const int* const three = &a.back();
//     b.splice(b.begin(), a);
//     assert(a.empty() && b.size() == 4 && *three == 3);
#pragma once

#include <initializer_list>
#include <iterator>
#include <list>
#include <memory>
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "detail/guides.hpp"
#include "pooled.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class T, class A, class Word>
struct pooled_traits<std::list<T, A>, Word> {
    using base = std::list<T, group_allocator<T, T, A, group_policy<Word, false>>>;
    static constexpr bool is_hashed = false;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class T, class A = std::allocator<T>>
class pooled_list : public pooled<std::list<T, A>> {
    using adaptor = pooled<std::list<T, A>>;

  public:
    using adaptor::adaptor;
    using adaptor::operator=;
    pooled_list(std::initializer_list<T> values) : adaptor(values) {}  // for deduction by gcc 12

    friend void swap(pooled_list& a, pooled_list& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

template <class It, class A = std::allocator<detail::guide_value<It>>>
    requires std::input_iterator<It> && detail::is_allocator<A>
pooled_list(It, It, A = A()) -> pooled_list<detail::guide_value<It>, A>;
template <class T, class A = std::allocator<T>>
    requires detail::is_allocator<A>
pooled_list(std::initializer_list<T>, A = A()) -> pooled_list<T, A>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range R, class A = std::allocator<std::ranges::range_value_t<R>>>
    requires detail::is_allocator<A>
pooled_list(std::from_range_t, R&&, A = A()) -> pooled_list<std::ranges::range_value_t<R>, A>;
#endif

}  // namespace millpond::inline MILLPOND_ABI
