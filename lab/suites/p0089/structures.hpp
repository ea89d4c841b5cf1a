// SPDX-License-Identifier: BSL-1.0
// structures: Benchmark I of P0089R0, section 7: the life of one isolated structure, for any binding.
//
//   fresh allocator ─▶ create: vectors reserved, sets not ─▶ use: each leaf written once ─▶ destroy ─▶ allocator gone
//                                                        wink: the structure lies in the allocator, and goes with it
//                                                              (or on the stack, and is left there: an experiment)
//
// Nested containers get their allocator by uses-allocator construction. Texts are copied in, as long as they are drawn.
// The paper says nothing of how containers are hashed: here by their first leaf, which no other one has, so that a hash
// costs next to nothing, and equality the same. Texts are hashed whole, by the standard's hash.
// Sets are written into, too: nothing is looked up afterwards, and no destructor hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "lab/suites/common/containers.hpp"
#include "lab/suites/common/leaves.hpp"
#include "life.hpp"
#include "millpond/bind/is_winkable.hpp"
#include "pools.hpp"

namespace millpond::p0089 {

using suites::inner_elements;
using suites::is_set;
using suites::is_text;
using suites::number_set_of;
using suites::text_of;
using suites::text_set_of;
using suites::vector_of;

// Returns: a number that no other leaf of the structure has: an int itself, or what a text begins with.
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

// A container within a container: as the binding has it, if it says so.
template <class C, class Container>
struct nested {
    using type = Container;
};
template <class C, class Container>
    requires requires { typename C::template nested<Container>; }
struct nested<C, Container> {
    using type = typename C::template nested<Container>;
};
template <class C, class Container>
using nested_of = typename nested<C, Container>::type;

template <class C, class T>
using container_set_of = std::unordered_set<T, first_leaf_hash, first_leaf_equal, typename C::template allocator<T>>;

// A vector is reserved for so many of its elements.
template <class Container>
void create(Container& to, std::uint64_t elements, std::uint64_t reserved, suites::leaves& from) {
    using element = typename Container::value_type;
    if constexpr (!is_set<Container>) to.reserve(reserved);
    for (std::uint64_t i = 0; i < elements; ++i) {
        if constexpr (is_text<element>) {
            const auto text = from.next_text();
            if constexpr (is_set<Container>) {
                to.emplace(text.begin, text.length);
            } else {
                to.emplace_back(text.begin, text.length);
            }
        } else if constexpr (std::is_same_v<element, int>) {
            if constexpr (is_set<Container>) {
                to.insert(from.next_number());
            } else {
                to.push_back(from.next_number());
            }
        } else if constexpr (is_set<Container>) {
            element inner(to.get_allocator());
            create(inner, inner_elements, inner_elements, from);
            to.insert(std::move(inner));
        } else {
            to.emplace_back();
            create(to.back(), inner_elements, inner_elements, from);
        }
    }
}

// Effects: writes the leaf, whatever the compiler makes of it: where it lies is read from a volatile variable.
inline void write_leaf(const void* leaf, std::size_t bytes) {
    volatile char* volatile where = static_cast<volatile char*>(const_cast<void*>(leaf));
    std::memset(const_cast<char*>(where), 0xff, bytes);
}

// Effects: writes every leaf once. Returns: a sum over what they were before, in whatever order.
template <class Container>
std::uint64_t use(const Container& in) {
    std::uint64_t sum = 0;
    for (const auto& element : in) {
        using type = std::remove_cvref_t<decltype(element)>;
        if constexpr (std::is_same_v<type, int>) {
            sum += number_of(element);
            write_leaf(&element, sizeof element);
        } else if constexpr (is_text<type>) {
            sum += number_of(element) + element.size();
            write_leaf(element.data(), element.size());
        } else {
            sum += use(element);
        }
    }
    return sum;
}

// Out of line: the same code for a structure that is destroyed and for one that is winked out.
template <class Container>
[[gnu::noinline]] std::uint64_t create_and_use(Container& structure, extent wanted, suites::leaves& from) {
    create(structure, wanted.elements, wanted.reserved, from);
    return use(structure);
}

// Structure<C>: the structure's type where containers reach their allocator by C.
template <template <class> class Structure>
struct lives {
    template <class C>
    struct of {
        using structure_type = Structure<C>;

        static std::uint64_t destroyed(extent wanted, suites::leaves& from) {
            typename C::pool pool;
            structure_type structure(C::template bind<typename structure_type::value_type>(pool));
            return create_and_use(structure, wanted, from);
        }
        static std::uint64_t winked(extent wanted, suites::leaves& from) {
            if constexpr (C::can_wink) {
                static_assert(is_winkable_v<structure_type>);
                typename C::pool pool;
                void* const memory = C::take(C::handle(pool), sizeof(structure_type), alignof(structure_type));
                auto* const structure =
                    ::new (memory) structure_type(C::template bind<typename structure_type::value_type>(pool));
                return create_and_use(*structure, wanted, from);
            } else {
                return 0;
            }
        }
        static std::uint64_t winked_on_stack(extent wanted, suites::leaves& from) {
            if constexpr (C::can_wink) {
                typename C::pool pool;
                alignas(structure_type) std::byte room[sizeof(structure_type)];
                auto* const structure =
                    ::new (room) structure_type(C::template bind<typename structure_type::value_type>(pool));
                return create_and_use(*structure, wanted, from);
            } else {
                return 0;
            }
        }
        static life run(ending how) {
            constexpr life by_ending[] = {&destroyed, &winked, &winked_on_stack};
            return by_ending[static_cast<std::size_t>(how)];
        }
    };

    // Returns: null for a binding that was not compiled for this structure.
    template <class Tried = tried_nowhere>
    static life chosen_life(strategy by, ending how) {
        const auto run = by.is_usual() ? chosen<of>(by) : chosen_tried<of>(by, Tried{});
        return run == nullptr ? nullptr : run(how);
    }
};

}  // namespace millpond::p0089
