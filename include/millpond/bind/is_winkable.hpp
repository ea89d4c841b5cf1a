// SPDX-License-Identifier: BSL-1.0
// is_winkable: tells whether an object may vanish without its destructor when all its memory is released at once.
//
//   trivially destructible                                   yes: its destructor does nothing
//   std containers of winkable elements over our bindings    yes: their destructors would only free memory of the pool
//   pair, tuple, array, optional, variant of winkable types  yes
//   everything else                                          no: it might close a file, or free memory elsewhere
//
// Specialise it for your own types whose destructors do nothing but destroy winkable members:
//     template <> struct millpond::is_winkable<order> : std::true_type {};
// It is a promise of yours: nothing can prove that a type owns no lock or file. std::pmr containers count as ours,
// whatever resource they get at run time, so give them the resource that is winked out. Comparison and hash functions
// count as parts.
// Compile-time only. Following P0089R0, sections 3 and 4.
//
// Example:
//     static_assert(millpond::is_winkable_v<std::pmr::map<int, std::pmr::string>>);
//     static_assert(!millpond::is_winkable_v<std::vector<int>>);  // its memory is not the pool's
#pragma once

#include <array>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "../core/abi.hpp"
#include "allocator.hpp"
#include "unique.hpp"

namespace millpond::inline MILLPOND_ABI {

// True for the allocators through which containers reach an allocator of ours.
template <class Allocator>
struct is_binding : std::false_type {};
template <class T, class A>
struct is_binding<allocator<T, A>> : std::true_type {};
template <class T>
struct is_binding<std::pmr::polymorphic_allocator<T>> : std::true_type {};  // declared by <vector> for std::pmr::vector

template <class T>
struct is_winkable : std::is_trivially_destructible<T> {};

template <class T>
inline constexpr bool is_winkable_v = is_winkable<T>::value;

template <class T>
struct is_winkable<const T> : is_winkable<T> {};

// A container over `Allocator`, made of parts that must be winkable.
template <class Allocator, class... Parts>
using is_winkable_container = std::bool_constant<is_binding<Allocator>::value && (is_winkable_v<Parts> && ...)>;

template <class T, class A>
struct is_winkable<std::vector<T, A>> : is_winkable_container<A, T> {};
template <class T, class A>
struct is_winkable<std::deque<T, A>> : is_winkable_container<A, T> {};
template <class T, class A>
struct is_winkable<std::list<T, A>> : is_winkable_container<A, T> {};
template <class T, class A>
struct is_winkable<std::forward_list<T, A>> : is_winkable_container<A, T> {};
template <class T, class Traits, class A>
struct is_winkable<std::basic_string<T, Traits, A>> : is_winkable_container<A, T> {};

template <class K, class C, class A>
struct is_winkable<std::set<K, C, A>> : is_winkable_container<A, K, C> {};
template <class K, class C, class A>
struct is_winkable<std::multiset<K, C, A>> : is_winkable_container<A, K, C> {};
template <class K, class V, class C, class A>
struct is_winkable<std::map<K, V, C, A>> : is_winkable_container<A, K, V, C> {};
template <class K, class V, class C, class A>
struct is_winkable<std::multimap<K, V, C, A>> : is_winkable_container<A, K, V, C> {};

template <class K, class H, class E, class A>
struct is_winkable<std::unordered_set<K, H, E, A>> : is_winkable_container<A, K, H, E> {};
template <class K, class H, class E, class A>
struct is_winkable<std::unordered_multiset<K, H, E, A>> : is_winkable_container<A, K, H, E> {};
template <class K, class V, class H, class E, class A>
struct is_winkable<std::unordered_map<K, V, H, E, A>> : is_winkable_container<A, K, V, H, E> {};
template <class K, class V, class H, class E, class A>
struct is_winkable<std::unordered_multimap<K, V, H, E, A>> : is_winkable_container<A, K, V, H, E> {};

template <class T, class Container>
struct is_winkable<std::stack<T, Container>> : is_winkable<Container> {};
template <class T, class Container>
struct is_winkable<std::queue<T, Container>> : is_winkable<Container> {};
template <class T, class Container, class C>
struct is_winkable<std::priority_queue<T, Container, C>>
    : std::bool_constant<is_winkable_v<Container> && is_winkable_v<C>> {};

// A pointer to an object in a pool: its destructor would free memory of the pool, too.
template <class T, class A>
struct is_winkable<std::unique_ptr<T, pool_delete<T, A>>> : is_winkable<std::remove_extent_t<T>> {};

template <class First, class Second>
struct is_winkable<std::pair<First, Second>> : std::bool_constant<is_winkable_v<First> && is_winkable_v<Second>> {};
template <class... Parts>
struct is_winkable<std::tuple<Parts...>> : std::bool_constant<(is_winkable_v<Parts> && ...)> {};
template <class T, std::size_t N>
struct is_winkable<std::array<T, N>> : is_winkable<T> {};
template <class T>
struct is_winkable<std::optional<T>> : is_winkable<T> {};
template <class... Parts>
struct is_winkable<std::variant<Parts...>> : std::bool_constant<(is_winkable_v<Parts> && ...)> {};

}  // namespace millpond::inline MILLPOND_ABI
