// SPDX-License-Identifier: BSL-1.0
// pooled_multiset: std::multiset with a pool inside; see pooled.hpp.
//
// Example:
//     millpond::pooled_multiset<int> a{1, 2}, b{2, 3};
//     a.merge(b);
//     assert(a.count(2) == 2 && b.empty());
#pragma once

#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "detail/guides.hpp"
#include "pooled.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class K, class C, class A, class Word>
struct pooled_traits<std::multiset<K, C, A>, Word> {
    using base = std::multiset<K, C, group_allocator<K, K, A, group_policy<Word, true>>>;
    static constexpr bool is_hashed = false;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class K, class C = std::less<K>, class A = std::allocator<K>>
class pooled_multiset : public pooled<std::multiset<K, C, A>> {
    using adaptor = pooled<std::multiset<K, C, A>>;

  public:
    using adaptor::adaptor;
    using adaptor::operator=;
    pooled_multiset(std::initializer_list<K> values) : adaptor(values) {}  // for deduction by gcc 12

    friend void swap(pooled_multiset& a, pooled_multiset& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

template <class It, class C = std::less<detail::guide_value<It>>, class A = std::allocator<detail::guide_value<It>>>
    requires std::input_iterator<It> && (!detail::is_allocator<C>) && detail::is_allocator<A>
pooled_multiset(It, It, C = C(), A = A()) -> pooled_multiset<detail::guide_value<It>, C, A>;
template <class It, class A>
    requires std::input_iterator<It> && detail::is_allocator<A>
pooled_multiset(It, It, A) -> pooled_multiset<detail::guide_value<It>, std::less<detail::guide_value<It>>, A>;
template <class K, class C = std::less<K>, class A = std::allocator<K>>
    requires(!detail::is_allocator<C>) && detail::is_allocator<A>
pooled_multiset(std::initializer_list<K>, C = C(), A = A()) -> pooled_multiset<K, C, A>;
template <class K, class A>
    requires detail::is_allocator<A>
pooled_multiset(std::initializer_list<K>, A) -> pooled_multiset<K, std::less<K>, A>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range R, class C = std::less<std::ranges::range_value_t<R>>,
          class A = std::allocator<std::ranges::range_value_t<R>>>
    requires(!detail::is_allocator<C>) && detail::is_allocator<A>
pooled_multiset(std::from_range_t, R&&, C = C(), A = A()) -> pooled_multiset<std::ranges::range_value_t<R>, C, A>;
template <std::ranges::input_range R, class A>
    requires detail::is_allocator<A>
pooled_multiset(std::from_range_t, R&&, A)
    -> pooled_multiset<std::ranges::range_value_t<R>, std::less<std::ranges::range_value_t<R>>, A>;
#endif

}  // namespace millpond::inline MILLPOND_ABI
