// SPDX-License-Identifier: BSL-1.0
// pooled_unordered_multimap: std::unordered_multimap with a pool inside; see pooled.hpp.
//
// Example:
//     millpond::pooled_unordered_multimap<int, int> numbers{{1, 10}, {1, 11}};
//     numbers.wink();
//     assert(numbers.empty());
#pragma once

#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "../core/abi.hpp"
#include "detail/guides.hpp"
#include "pooled.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class K, class V, class H, class E, class A, class Word>
struct pooled_traits<std::unordered_multimap<K, V, H, E, A>, Word> {
    using pair = std::pair<const K, V>;
    using base = std::unordered_multimap<K, V, H, E, group_allocator<pair, pair, A, group_policy<Word, true>>>;
    static constexpr bool is_hashed = true;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class K, class V, class H = std::hash<K>, class E = std::equal_to<K>,
          class A = std::allocator<std::pair<const K, V>>>
class pooled_unordered_multimap : public pooled<std::unordered_multimap<K, V, H, E, A>> {
    using adaptor = pooled<std::unordered_multimap<K, V, H, E, A>>;

  public:
    using adaptor::adaptor;
    using adaptor::operator=;
    pooled_unordered_multimap(std::initializer_list<std::pair<const K, V>> values)
        : adaptor(values) {}  // for deduction by gcc 12

    friend void swap(pooled_unordered_multimap& a, pooled_unordered_multimap& b) noexcept(noexcept(a.swap(b))) {
        a.swap(b);
    }
};

template <class It, class H = std::hash<detail::guide_key<It>>, class E = std::equal_to<detail::guide_key<It>>,
          class A = std::allocator<detail::guide_pair<It>>>
    requires std::input_iterator<It> && detail::guide_hash<H> && (!detail::is_allocator<E>) && detail::is_allocator<A>
pooled_unordered_multimap(It, It, std::size_t = 0, H = H(), E = E(), A = A())
    -> pooled_unordered_multimap<detail::guide_key<It>, detail::guide_mapped<It>, H, E, A>;
template <class It, class A>
    requires std::input_iterator<It> && detail::is_allocator<A>
pooled_unordered_multimap(It, It, std::size_t, A)
    -> pooled_unordered_multimap<detail::guide_key<It>, detail::guide_mapped<It>, std::hash<detail::guide_key<It>>,
                                 std::equal_to<detail::guide_key<It>>, A>;
template <class It, class H, class A>
    requires std::input_iterator<It> && detail::guide_hash<H> && detail::is_allocator<A>
pooled_unordered_multimap(It, It, std::size_t, H, A)
    -> pooled_unordered_multimap<detail::guide_key<It>, detail::guide_mapped<It>, H,
                                 std::equal_to<detail::guide_key<It>>, A>;
template <class K, class V, class H = std::hash<K>, class E = std::equal_to<K>,
          class A = std::allocator<std::pair<const K, V>>>
    requires detail::guide_hash<H> && (!detail::is_allocator<E>) && detail::is_allocator<A>
pooled_unordered_multimap(std::initializer_list<std::pair<K, V>>, std::size_t = 0, H = H(), E = E(), A = A())
    -> pooled_unordered_multimap<K, V, H, E, A>;
template <class K, class V, class A>
    requires detail::is_allocator<A>
pooled_unordered_multimap(std::initializer_list<std::pair<K, V>>, std::size_t, A)
    -> pooled_unordered_multimap<K, V, std::hash<K>, std::equal_to<K>, A>;
template <class K, class V, class H, class A>
    requires detail::guide_hash<H> && detail::is_allocator<A>
pooled_unordered_multimap(std::initializer_list<std::pair<K, V>>, std::size_t, H, A)
    -> pooled_unordered_multimap<K, V, H, std::equal_to<K>, A>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range R, class H = std::hash<detail::guide_range_key<R>>,
          class E = std::equal_to<detail::guide_range_key<R>>, class A = std::allocator<detail::guide_range_pair<R>>>
    requires detail::guide_hash<H> && (!detail::is_allocator<E>) && detail::is_allocator<A>
pooled_unordered_multimap(std::from_range_t, R&&, std::size_t = 0, H = H(), E = E(), A = A())
    -> pooled_unordered_multimap<detail::guide_range_key<R>, detail::guide_range_mapped<R>, H, E, A>;
#endif

}  // namespace millpond::inline MILLPOND_ABI
