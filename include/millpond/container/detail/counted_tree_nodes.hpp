// SPDX-License-Identifier: BSL-1.0
// counted_tree_nodes: the leaves and inner nodes of a counted_tree, and the moves of entries within and between them.
//
//   inner   parent, n │ separators │ children │ counts      one of each per child; the first separator is not used
//   leaf    parent, n, previous, next │ slots
//
// A separator bounds a child's elements from below, and those of the child before it from above. Small trivial keys are
// copied. For others the separator is the first leaf below the child, whose first element is the key.
//
// Part of counted_tree. Everything is O(entries moved), without exceptions. Not thread-safe.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "counted_tree_slots.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The policy of a tree without an order: positions decide where elements go.
struct no_order {};

template <class Order>
inline constexpr bool has_order = !std::same_as<Order, no_order>;

template <class Inner>
struct tree_node {
    Inner* parent = nullptr;
    std::uint32_t n = 0;
};

// The policy of a tree whose elements have no followers.
struct no_tracker {
    template <class Leaf>
    struct in_leaf {};
    template <class Leaf>
    static void moved(Leaf*, std::size_t, std::size_t, Leaf*, std::size_t) noexcept {}
    template <class Leaf>
    static void erased(Leaf*, std::size_t, std::size_t) noexcept {}
};

template <class Key>
inline constexpr bool is_copied_separator =
    std::is_trivially_copyable_v<Key> && std::is_trivially_default_constructible_v<Key> && sizeof(Key) <= 16;

template <class T, class Order, class Leaf>
struct separator_of {
    using key_type = typename Order::key_type;
    static constexpr bool is_copy = is_copied_separator<key_type>;
    using type = std::conditional_t<is_copy, key_type, Leaf*>;

    [[nodiscard]] static type make(Leaf* first) noexcept {
        if constexpr (is_copy) {
            return Order::key(first->slots[0].value());
        } else {
            return first;
        }
    }
    [[nodiscard]] static const key_type& key(const type& separator) noexcept {
        if constexpr (is_copy) {
            return separator;
        } else {
            return Order::key(separator->slots[0].value());
        }
    }
};
template <class T, class Leaf>
struct separator_of<T, no_order, Leaf> {
    struct type {};
    static constexpr bool is_copy = true;
    [[nodiscard]] static type make(Leaf*) noexcept { return {}; }
};

template <class T, class Order, class Shape, class Tracking>
struct tree_nodes {
    struct inner;
    using node = tree_node<inner>;

    struct leaf : node {
        leaf() noexcept {}  // NOLINT(modernize-use-equals-default): that would write zeros to all slots

        leaf* previous = nullptr;
        leaf* next = nullptr;
        [[no_unique_address]] typename Tracking::template in_leaf<leaf> tracked;
        leaf_slot<T> slots[Shape::leaf_slots];
    };
    using separator = separator_of<T, Order, leaf>;
    using separator_type = typename separator::type;
    static constexpr bool is_ordered = has_order<Order>;

    struct no_separators {};
    struct separators {
        separator_type at[Shape::inner_slots];
    };

    struct inner : node {
        inner() noexcept {}  // NOLINT(modernize-use-equals-default): as leaf

        [[no_unique_address]] std::conditional_t<is_ordered, separators, no_separators> bounds;
        node* children[Shape::inner_slots];
        std::size_t counts[Shape::inner_slots];

        [[nodiscard]] separator_type bound(std::size_t i) const noexcept {
            if constexpr (is_ordered) {
                return bounds.at[i];
            } else {
                return {};
            }
        }
        void set_bound(std::size_t i, separator_type to) noexcept {
            if constexpr (is_ordered) bounds.at[i] = to;
        }

        [[nodiscard]] std::size_t index_of(const node* child) const noexcept {
            std::size_t i = 0;
            while (children[i] != child) ++i;
            return i;
        }
        // Returns: the child with element number `index`, which becomes its number there. The element is below this
        // node.
        [[nodiscard]] std::size_t child_with(std::size_t& index) const noexcept {
            std::size_t i = 0;
            while (index >= counts[i]) index -= counts[i++];
            return i;
        }
        [[nodiscard]] std::size_t sum(std::size_t from, std::size_t to) const noexcept {
            std::size_t sum = 0;
            for (; from < to; ++from) sum += counts[from];
            return sum;
        }
    };

    // Effects: moves entries [from, to) of a node to `at` of another one that has room; parents follow.
    static void copy_entries(inner* a, std::size_t from, std::size_t to, inner* b, std::size_t at) noexcept {
        const std::size_t n = to - from;
        std::memmove(b->children + at, a->children + from, n * sizeof(node*));
        std::memmove(b->counts + at, a->counts + from, n * sizeof(std::size_t));
        if constexpr (is_ordered) std::memmove(b->bounds.at + at, a->bounds.at + from, n * sizeof(separator_type));
        if (a == b) return;
        for (std::size_t i = at; i < at + n; ++i) b->children[i]->parent = b;
    }

    static void insert_entry(inner* to, std::size_t at, node* child, std::size_t count, separator_type bound) noexcept {
        copy_entries(to, at, to->n, to, at + 1);
        ++to->n;
        to->children[at] = child;
        to->counts[at] = count;
        to->set_bound(at, bound);
        child->parent = to;
    }
    static void remove_entries(inner* from, std::size_t first, std::size_t last) noexcept {
        copy_entries(from, last, from->n, from, first);
        from->n -= static_cast<std::uint32_t>(last - first);
    }

    // Effects: moves [from, to) of an inner node to the front or end of the neighbour on that side; the counts of both
    // follow. `bound`: that of the right one of the two before.
    static void shift_left(inner* left, inner* right, std::size_t n, separator_type bound) noexcept {
        right->set_bound(0, bound);
        copy_entries(right, 0, n, left, left->n);
        left->n += static_cast<std::uint32_t>(n);
        remove_entries(right, 0, n);
    }
    static void shift_right(inner* left, inner* right, std::size_t n, separator_type bound) noexcept {
        right->set_bound(0, bound);
        copy_entries(right, 0, right->n, right, n);
        copy_entries(left, left->n - n, left->n, right, 0);
        right->n += static_cast<std::uint32_t>(n);
        left->n -= static_cast<std::uint32_t>(n);
    }

    // Effects: moves `n` elements within a leaf or between two; the caller corrects the counts of both.
    template <class Alloc>
    static void move_slots(Alloc& alloc, leaf* from, std::size_t first, std::size_t n, leaf* to,
                           std::size_t at) noexcept {
        leaf_slot<T>::relocate(alloc, to->slots + at, from->slots + first, n);
        Tracking::moved(from, first, n, to, at);
    }
    template <class Alloc>
    static void shift_left(Alloc& alloc, leaf* left, leaf* right, std::size_t n) noexcept {
        move_slots(alloc, right, 0, n, left, left->n);
        move_slots(alloc, right, n, right->n - n, right, 0);
        left->n += static_cast<std::uint32_t>(n);
        right->n -= static_cast<std::uint32_t>(n);
    }
    template <class Alloc>
    static void shift_right(Alloc& alloc, leaf* left, leaf* right, std::size_t n) noexcept {
        move_slots(alloc, right, 0, right->n, right, n);
        move_slots(alloc, left, left->n - n, n, right, 0);
        left->n -= static_cast<std::uint32_t>(n);
        right->n += static_cast<std::uint32_t>(n);
    }

    // Effects: links a leaf behind another one; null: before the first one.
    static void link_behind(leaf* before, leaf* added) noexcept {
        added->previous = before;
        added->next = before->next;
        if (before->next != nullptr) before->next->previous = added;
        before->next = added;
    }
    static void unlink(leaf* gone) noexcept {
        if (gone->previous != nullptr) gone->previous->next = gone->next;
        if (gone->next != nullptr) gone->next->previous = gone->previous;
    }
};

// The sizes of nodes. 504 bytes are 512 with malloc's header, and fit a slot of compact_pool. A leaf's head is four
// words and the data of Tracking.
template <class T, class Order, class Tracking = no_tracker, std::size_t LeafBytes = 504, std::size_t InnerBytes = 504>
struct tree_shape {
    struct any_leaf {};
    static constexpr std::size_t separator_bytes = [] {
        if constexpr (has_order<Order>) {
            using key = typename Order::key_type;
            return is_copied_separator<key> ? sizeof(key) : sizeof(void*);
        } else {
            return std::size_t{0};
        }
    }();
    using tracked = typename Tracking::template in_leaf<any_leaf>;
    static constexpr std::size_t head_bytes = 4 * sizeof(void*) + (std::is_empty_v<tracked> ? 0 : sizeof(tracked));
    static constexpr std::size_t leaf_slots = std::max<std::size_t>((LeafBytes - head_bytes) / sizeof(leaf_slot<T>), 4);
    static constexpr std::size_t inner_slots = std::clamp<std::size_t>(
        (InnerBytes - 2 * sizeof(void*)) / (sizeof(void*) + sizeof(std::size_t) + separator_bytes), 4, 255);
};

}  // namespace millpond::inline MILLPOND_ABI::detail
