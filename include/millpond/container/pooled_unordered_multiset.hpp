// SPDX-License-Identifier: BSL-1.0
// pooled_unordered_multiset: std::unordered_multiset with a pool inside; see pooled.hpp.
//
// Example:
//     millpond::pooled_unordered_multiset<int> seen{7, 7};
//     assert(seen.count(7) == 2);
#pragma once

#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "../core/abi.hpp"
#include "detail/guides.hpp"
#include "pooled.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class K, class H, class E, class A, class Word>
struct pooled_traits<std::unordered_multiset<K, H, E, A>, Word> {
    using base = std::unordered_multiset<K, H, E, group_allocator<K, K, A, group_policy<Word, true>>>;
    static constexpr bool is_hashed = true;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class K, class H = std::hash<K>, class E = std::equal_to<K>, class A = std::allocator<K>>
class pooled_unordered_multiset : public pooled<std::unordered_multiset<K, H, E, A>> {
    using adaptor = pooled<std::unordered_multiset<K, H, E, A>>;

  public:
    using adaptor::adaptor;
    using adaptor::operator=;
    pooled_unordered_multiset(std::initializer_list<K> values) : adaptor(values) {}  // for deduction by gcc 12

    friend void swap(pooled_unordered_multiset& a, pooled_unordered_multiset& b) noexcept(noexcept(a.swap(b))) {
        a.swap(b);
    }
};

template <class It, class H = std::hash<detail::guide_value<It>>, class E = std::equal_to<detail::guide_value<It>>,
          class A = std::allocator<detail::guide_value<It>>>
    requires std::input_iterator<It> && detail::guide_hash<H> && (!detail::is_allocator<E>) && detail::is_allocator<A>
pooled_unordered_multiset(It, It, std::size_t = 0, H = H(), E = E(), A = A())
    -> pooled_unordered_multiset<detail::guide_value<It>, H, E, A>;
template <class It, class A>
    requires std::input_iterator<It> && detail::is_allocator<A>
pooled_unordered_multiset(It, It, std::size_t, A)
    -> pooled_unordered_multiset<detail::guide_value<It>, std::hash<detail::guide_value<It>>,
                                 std::equal_to<detail::guide_value<It>>, A>;
template <class It, class H, class A>
    requires std::input_iterator<It> && detail::guide_hash<H> && detail::is_allocator<A>
pooled_unordered_multiset(It, It, std::size_t, H, A)
    -> pooled_unordered_multiset<detail::guide_value<It>, H, std::equal_to<detail::guide_value<It>>, A>;
template <class K, class H = std::hash<K>, class E = std::equal_to<K>, class A = std::allocator<K>>
    requires detail::guide_hash<H> && (!detail::is_allocator<E>) && detail::is_allocator<A>
pooled_unordered_multiset(std::initializer_list<K>, std::size_t = 0, H = H(), E = E(), A = A())
    -> pooled_unordered_multiset<K, H, E, A>;
template <class K, class A>
    requires detail::is_allocator<A>
pooled_unordered_multiset(std::initializer_list<K>, std::size_t, A)
    -> pooled_unordered_multiset<K, std::hash<K>, std::equal_to<K>, A>;
template <class K, class H, class A>
    requires detail::guide_hash<H> && detail::is_allocator<A>
pooled_unordered_multiset(std::initializer_list<K>, std::size_t, H, A)
    -> pooled_unordered_multiset<K, H, std::equal_to<K>, A>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range R, class H = std::hash<std::ranges::range_value_t<R>>,
          class E = std::equal_to<std::ranges::range_value_t<R>>,
          class A = std::allocator<std::ranges::range_value_t<R>>>
    requires detail::guide_hash<H> && (!detail::is_allocator<E>) && detail::is_allocator<A>
pooled_unordered_multiset(std::from_range_t, R&&, std::size_t = 0, H = H(), E = E(), A = A())
    -> pooled_unordered_multiset<std::ranges::range_value_t<R>, H, E, A>;
#endif

}  // namespace millpond::inline MILLPOND_ABI
