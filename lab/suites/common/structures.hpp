// SPDX-License-Identifier: BSL-1.0
// structures: the life of one isolated structure, Benchmark I of P0089R0, section 7, for any binding (bindings.hpp).
//
//   fresh allocator ─▶ create: vectors reserved, sets not ─▶ use: each leaf visited once ─▶ destroy ─▶ allocator gone
//                                                        wink: the structure lies in the allocator, and goes with it
//                                                              (or on the stack, and is left there)
//
// Nested containers get their allocator by uses-allocator construction. Texts of sets are copied in, with the length
// that was drawn. The paper does not say how containers are hashed. Here the hash is the first leaf, which is different
// in each container, so hashing and comparing cost almost nothing. Texts are hashed whole, by the standard's hash.
//
// A Use defines how a text is added to a vector, and how a leaf is used:
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "leaves.hpp"
#include "millpond/bind/is_winkable.hpp"

namespace millpond::suites {

// The building blocks of structures: vector_of<C, T>, text_of<C>, number_set_of<C>, text_set_of<C>. They can be nested,
// and reach their memory by a binding C. is_set, is_text tell the kind of a container to code that fills or reads it.
template <class T>
concept is_set = requires { typename T::key_type; };
template <class T>
concept is_text = requires { typename T::traits_type; };

// The standard hashes texts only with some allocators. This hash is not noexcept: libstdc++ then keeps the hash in the
// node, as for std::string, so that rehashing need not read every text again.
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

// Returns: a number that no other leaf of the structure has: an int itself, or the number that a text begins with.
template <class Leaf>
std::uint32_t number_of(const Leaf& leaf) noexcept {
    std::uint32_t number = 0;
    if constexpr (is_text<Leaf>) {
        std::memcpy(&number, leaf.data(), sizeof number);
    } else {
        number = static_cast<std::uint32_t>(leaf);
    }
    return number;
}

struct first_leaf_hash {
    template <class Container>
    std::size_t operator()(const Container& container) const {
        return number_of(*container.begin());
    }
};
struct first_leaf_equal {
    template <class Container>
    bool operator()(const Container& a, const Container& b) const {
        return number_of(*a.begin()) == number_of(*b.begin());
    }
};

// A container within a container: the binding's own type, if it has one.
template <class C, class Container>
struct nested_container {
    using type = Container;
};
template <class C, class Container>
    requires requires { typename C::template nested<Container>; }
struct nested_container<C, Container> {
    using type = typename C::template nested<Container>;
};
template <class C, class Container>
using nested_of = typename nested_container<C, Container>::type;

template <class C, class T>
using container_set_of = std::unordered_set<T, first_leaf_hash, first_leaf_equal, typename C::template allocator<T>>;

// The number of elements of the outer container. A vector that is reserved for fewer grows on the way.
struct extent {
    std::uint64_t elements;
    std::uint64_t reserved;
};

template <class Use, class Container>
void create(Container& to, extent wanted, leaves& from) {
    using element = typename Container::value_type;
    constexpr extent inner_extent{inner_elements, inner_elements};
    if constexpr (!is_set<Container>) to.reserve(wanted.reserved);
    for (std::uint64_t i = 0; i < wanted.elements; ++i) {
        if constexpr (is_text<element>) {
            if constexpr (is_set<Container>) {
                const auto text = from.next_text();
                to.emplace(text.begin, text.length);
            } else {
                Use::append_text(to, from);
            }
        } else if constexpr (std::is_same_v<element, int>) {
            if constexpr (is_set<Container>) {
                to.insert(from.next_number());
            } else {
                to.push_back(from.next_number());
            }
        } else if constexpr (is_set<Container>) {
            element inner(to.get_allocator());
            create<Use>(inner, inner_extent, from);
            to.insert(std::move(inner));
        } else {
            to.emplace_back();
            create<Use>(to.back(), inner_extent, from);
        }
    }
}

// Effects: visits every leaf once. Returns: a sum of their old values, independent of the order.
template <class Use, class Container>
std::uint64_t use(Container& in) {
    std::uint64_t sum = 0;
    for (auto& element : in) {
        using type = std::remove_cvref_t<decltype(element)>;
        if constexpr (std::is_same_v<type, int>) {
            sum += Use::number(element);
        } else if constexpr (is_text<type>) {
            sum += Use::text(element);
        } else {
            sum += use<Use>(element);
        }
    }
    return sum;
}

// Out of line: a destroyed and a winked-out structure run the same code.
template <class Use, class Container>
[[gnu::noinline]] std::uint64_t create_and_use(Container& structure, extent wanted, leaves& from) {
    create<Use>(structure, wanted, from);
    return use<Use>(structure);
}

// The lives of a structure S whose containers reach their allocator by C.
template <class C, class S, class Use>
struct structure_lives {
    static std::uint64_t destroyed(extent wanted, leaves& from) {
        typename C::pool pool;
        S structure(C::template bind<typename S::value_type>(pool));
        return create_and_use<Use>(structure, wanted, from);
    }
    static std::uint64_t winked(extent wanted, leaves& from) {
        static_assert(C::can_wink && is_winkable_v<S>);
        typename C::pool pool;
        void* const room = C::take(C::handle(pool), sizeof(S), alignof(S));
        return create_and_use<Use>(*constructed(room, pool), wanted, from);
    }
    static std::uint64_t winked_on_stack(extent wanted, leaves& from) {
        static_assert(C::can_wink && is_winkable_v<S>);
        typename C::pool pool;
        alignas(S) std::byte room[sizeof(S)];
        return create_and_use<Use>(*constructed(room, pool), wanted, from);
    }

  private:
    static S* constructed(void* room, typename C::pool& pool) {
        return ::new (room) S(C::template bind<typename S::value_type>(pool));
    }
};

}  // namespace millpond::suites
