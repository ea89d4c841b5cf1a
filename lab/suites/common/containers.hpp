// SPDX-License-Identifier: BSL-1.0
// containers: the containers that structures are made of, reaching their memory by a binding C (bindings.hpp).
//
//   vector_of<C, T>   text_of<C>   number_set_of<C>   text_set_of<C>      nested freely: vector_of<C, text_set_of<C>>
//
// is_set, is_text: what a container is, to code that fills or reads any of them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace millpond::suites {

template <class T>
concept is_set = requires { typename T::key_type; };
template <class T>
concept is_text = requires { typename T::traits_type; };

// The standard hashes texts only with some allocators. Not noexcept, because libstdc++ then keeps the hash in the node,
// as it does for std::string: rehashing must not read every text again.
struct text_hash {
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

template <class C, class T>
using vector_of = std::vector<T, typename C::template allocator<T>>;
template <class C>
using text_of = std::basic_string<char, std::char_traits<char>, typename C::template allocator<char>>;
template <class C>
using number_set_of = std::unordered_set<int, std::hash<int>, std::equal_to<int>, typename C::template allocator<int>>;
template <class C>
using text_set_of =
    std::unordered_set<text_of<C>, text_hash, std::equal_to<text_of<C>>, typename C::template allocator<text_of<C>>>;

}  // namespace millpond::suites
