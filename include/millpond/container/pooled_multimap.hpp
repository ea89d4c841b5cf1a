// SPDX-License-Identifier: BSL-1.0
// pooled_multimap: std::multimap with a pool inside; see pooled.hpp.
//
// Example:
//     millpond::pooled_multimap<int, int> numbers{{1, 10}, {1, 11}};
//     assert(numbers.count(1) == 2);
#pragma once

#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "detail/guides.hpp"
#include "pooled.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class K, class V, class C, class A, class Word>
struct pooled_traits<std::multimap<K, V, C, A>, Word> {
    using pair = std::pair<const K, V>;
    using base = std::multimap<K, V, C, group_allocator<pair, pair, A, group_policy<Word, true>>>;
    static constexpr bool is_hashed = false;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class K, class V, class C = std::less<K>, class A = std::allocator<std::pair<const K, V>>>
class pooled_multimap : public pooled<std::multimap<K, V, C, A>> {
    using adaptor = pooled<std::multimap<K, V, C, A>>;

  public:
    using adaptor::adaptor;
    using adaptor::operator=;
    pooled_multimap(std::initializer_list<std::pair<const K, V>> values)
        : adaptor(values) {}  // for deduction by gcc 12

    friend void swap(pooled_multimap& a, pooled_multimap& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

template <class It, class C = std::less<detail::guide_key<It>>, class A = std::allocator<detail::guide_pair<It>>>
    requires std::input_iterator<It> && (!detail::is_allocator<C>) && detail::is_allocator<A>
pooled_multimap(It, It, C = C(), A = A()) -> pooled_multimap<detail::guide_key<It>, detail::guide_mapped<It>, C, A>;
template <class It, class A>
    requires std::input_iterator<It> && detail::is_allocator<A>
pooled_multimap(It, It, A)
    -> pooled_multimap<detail::guide_key<It>, detail::guide_mapped<It>, std::less<detail::guide_key<It>>, A>;
template <class K, class V, class C = std::less<K>, class A = std::allocator<std::pair<const K, V>>>
    requires(!detail::is_allocator<C>) && detail::is_allocator<A>
pooled_multimap(std::initializer_list<std::pair<K, V>>, C = C(), A = A()) -> pooled_multimap<K, V, C, A>;
template <class K, class V, class A>
    requires detail::is_allocator<A>
pooled_multimap(std::initializer_list<std::pair<K, V>>, A) -> pooled_multimap<K, V, std::less<K>, A>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range R, class C = std::less<detail::guide_range_key<R>>,
          class A = std::allocator<detail::guide_range_pair<R>>>
    requires(!detail::is_allocator<C>) && detail::is_allocator<A>
pooled_multimap(std::from_range_t, R&&, C = C(), A = A())
    -> pooled_multimap<detail::guide_range_key<R>, detail::guide_range_mapped<R>, C, A>;
template <std::ranges::input_range R, class A>
    requires detail::is_allocator<A>
pooled_multimap(std::from_range_t, R&&, A) -> pooled_multimap<detail::guide_range_key<R>, detail::guide_range_mapped<R>,
                                                              std::less<detail::guide_range_key<R>>, A>;
#endif

}  // namespace millpond::inline MILLPOND_ABI
