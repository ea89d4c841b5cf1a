// SPDX-License-Identifier: BSL-1.0
// containers: the names of the standard's containers over one allocator, and nothing else.
//
//   containers<my_allocator>::vector<int>        std::vector<int, my_allocator<int>>
//   containers<my_allocator>::map<int, long>     std::map<int, long, std::less<int>, my_allocator<std::pair<const …>>>
//   containers<my_allocator>::string             std::basic_string<char, std::char_traits<char>, my_allocator<char>>
//
// Every place (process_pool, slab_pool, phase_arena, scope_arena, thread_arena, instance_pool) has these names. Use it
// by itself to give them to an allocator of your own: any template with one parameter that makes standard allocators.
// The names: vector, deque, list, forward_list; set, map and their multi and unordered forms; basic_string, string,
// wstring; stack, queue, priority_queue; stringstream, ostringstream, istringstream; and allocator itself. Parameters
// and their defaults are the standard's, without the allocator. Elements keep their types: the strings in a
// vector<std::string> use the heap.
//
// Compile-time only.
//
// Example:
//     using plain = millpond::advise::containers<std::allocator>;
//     static_assert(std::is_same_v<plain::map<int, long>, std::map<int, long>>);
//     static_assert(std::is_same_v<plain::string, std::string>);
#pragma once

#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <queue>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::advise {

template <template <class> class Allocator>
class containers {
    template <class K, class V>
    using pair_allocator = Allocator<std::pair<const K, V>>;

  public:
    template <class T>
    using allocator = Allocator<T>;

    template <class T>
    using vector = std::vector<T, Allocator<T>>;
    template <class T>
    using deque = std::deque<T, Allocator<T>>;
    template <class T>
    using list = std::list<T, Allocator<T>>;
    template <class T>
    using forward_list = std::forward_list<T, Allocator<T>>;

    template <class K, class Compare = std::less<K>>
    using set = std::set<K, Compare, Allocator<K>>;
    template <class K, class Compare = std::less<K>>
    using multiset = std::multiset<K, Compare, Allocator<K>>;
    template <class K, class V, class Compare = std::less<K>>
    using map = std::map<K, V, Compare, pair_allocator<K, V>>;
    template <class K, class V, class Compare = std::less<K>>
    using multimap = std::multimap<K, V, Compare, pair_allocator<K, V>>;

    template <class K, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
    using unordered_set = std::unordered_set<K, Hash, Equal, Allocator<K>>;
    template <class K, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
    using unordered_multiset = std::unordered_multiset<K, Hash, Equal, Allocator<K>>;
    template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
    using unordered_map = std::unordered_map<K, V, Hash, Equal, pair_allocator<K, V>>;
    template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
    using unordered_multimap = std::unordered_multimap<K, V, Hash, Equal, pair_allocator<K, V>>;

    template <class Letter, class Traits = std::char_traits<Letter>>
    using basic_string = std::basic_string<Letter, Traits, Allocator<Letter>>;
    using string = basic_string<char>;
    using wstring = basic_string<wchar_t>;

    template <class T, class Container = deque<T>>
    using stack = std::stack<T, Container>;
    template <class T, class Container = deque<T>>
    using queue = std::queue<T, Container>;
    template <class T, class Container = vector<T>, class Compare = std::less<T>>
    using priority_queue = std::priority_queue<T, Container, Compare>;

    using stringstream = std::basic_stringstream<char, std::char_traits<char>, Allocator<char>>;
    using ostringstream = std::basic_ostringstream<char, std::char_traits<char>, Allocator<char>>;
    using istringstream = std::basic_istringstream<char, std::char_traits<char>, Allocator<char>>;

    containers() = delete;
};

}  // namespace millpond::inline MILLPOND_ABI::advise
