// SPDX-License-Identifier: BSL-1.0
// associative_kinds: the containers with ranks, and the standard's as their models, for tests typed by kind.
//
//   set_kind<counted_set, std::set>   container<Key>: with a comparison and an allocator that fail when told to
//                                     model: the standard's container of numbers
//
// tiny_set and its kind are B-trees whose nodes have at most four entries, so that few elements make a high tree.
#pragma once

#include <map>
#include <millpond/container.hpp>
#include <set>
#include <utility>

#include "tracked.hpp"

namespace millpond::test {

inline int number_of(int key) { return key; }
template <bool MayCopy, bool MayThrow>
int number_of(const tracked<MayCopy, MayThrow>& key) {
    return key.value();
}

// A comparison of which each call can be made to throw.
struct failing_less {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
        element_books::operation();
        return number_of(a) < number_of(b);
    }
};

// The blocks that numbered allocators have given and not got back.
struct allocation_books {
    inline static std::map<int, int> blocks;
};

// An allocator of which each call can be made to throw. Allocators with different numbers are unequal.
template <class T>
class failing_allocator {
  public:
    using value_type = T;

    failing_allocator() = default;
    explicit failing_allocator(int number) : number_(number) {}
    template <class U>
    failing_allocator(const failing_allocator<U>& other) : number_(other.number()) {}  // NOLINT(*-explicit-*)

    [[nodiscard]] T* allocate(std::size_t n) {
        element_books::operation();
        ++allocation_books::blocks[number_];
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        --allocation_books::blocks[number_];
        std::allocator<T>().deallocate(memory, n);
    }

    [[nodiscard]] int number() const { return number_; }
    template <class U>
    friend bool operator==(const failing_allocator& a, const failing_allocator<U>& b) {
        return a.number() == b.number();
    }

  private:
    int number_ = 0;
};

struct tiny_shape {
    static constexpr std::size_t leaf_slots = 4;
    static constexpr std::size_t inner_slots = 4;
};
template <class Element, class Allocator>
using tiny_core = detail::ordered_core<Element, Allocator, tiny_shape>;

template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
class tiny_set : public detail::associative<tiny_set<Key, Compare, Allocator>,
                                            tiny_core<detail::set_element<Key>, Allocator>, Compare, true> {
  public:
    using tiny_set::associative::associative;
    tiny_set() = default;
};
template <class Key, class Compare = std::less<Key>, class Allocator = std::allocator<Key>>
class tiny_multiset : public detail::associative<tiny_multiset<Key, Compare, Allocator>,
                                                 tiny_core<detail::set_element<Key>, Allocator>, Compare, false> {
  public:
    using tiny_multiset::associative::associative;
    tiny_multiset() = default;
};
template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
class tiny_map : public detail::associative_map<tiny_map<Key, Mapped, Compare, Allocator>,
                                                tiny_core<detail::map_element<Key, Mapped>, Allocator>, Compare> {
  public:
    using tiny_map::associative_map::associative_map;
    tiny_map() = default;
};
template <class Key, class Mapped, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Mapped>>>
class tiny_multimap
    : public detail::associative<tiny_multimap<Key, Mapped, Compare, Allocator>,
                                 tiny_core<detail::map_element<Key, Mapped>, Allocator>, Compare, false> {
  public:
    using tiny_multimap::associative::associative;
    tiny_multimap() = default;
};

// Returns true if the nodes of a container are linked, counted and balanced correctly.
template <class Container>
[[nodiscard]] bool is_sound(const Container& container) {
    struct opened : Container {
        static const auto& core(const Container& of) { return of.*(&opened::core_); }
    };
    return opened::core(container).is_sound(container.key_comp());
}

template <class Key, template <class, class, class> class Set, template <class, class, class> class Other,
          bool IsUnique, bool KeepsPositions>
struct set_kind {
    using container = Set<Key, failing_less, failing_allocator<Key>>;
    using other = Other<Key, failing_less, failing_allocator<Key>>;  // the one with equal keys of the two
    using model = std::conditional_t<IsUnique, std::set<int>, std::multiset<int>>;
    using other_model = std::conditional_t<IsUnique, std::multiset<int>, std::set<int>>;
    static constexpr bool is_map = false;
    static constexpr bool is_unique = IsUnique;
    static constexpr bool keeps_positions = KeepsPositions;

    static Key element(int number, int) { return Key(number); }
    static int model_element(int number, int) { return number; }
    static std::pair<int, int> numbers(const Key& key) { return {number_of(key), 0}; }
};

template <class Key, template <class, class, class, class> class Map, template <class, class, class, class> class Other,
          bool IsUnique, bool KeepsPositions>
struct map_kind {
    using pair = std::pair<const Key, int>;
    using container = Map<Key, int, failing_less, failing_allocator<pair>>;
    using other = Other<Key, int, failing_less, failing_allocator<pair>>;
    using model = std::conditional_t<IsUnique, std::map<int, int>, std::multimap<int, int>>;
    using other_model = std::conditional_t<IsUnique, std::multimap<int, int>, std::map<int, int>>;
    static constexpr bool is_map = true;
    static constexpr bool is_unique = IsUnique;
    static constexpr bool keeps_positions = KeepsPositions;

    static pair element(int number, int mapped) { return pair(number, mapped); }
    static std::pair<const int, int> model_element(int number, int mapped) { return {number, mapped}; }
    template <class First>
    static std::pair<int, int> numbers(const std::pair<First, int>& element) {
        return {number_of(element.first), element.second};
    }
};

}  // namespace millpond::test
