// SPDX-License-Identifier: BSL-1.0
// counted_tree_search: the constant members of a counted_tree: elements by number and by key, and their numbers.
//
//                     │ 70 │ 52 │ 61 │             nth(75): 70 are below the first child, number 5 of the second
//              ┌────────┘    │     └──────┐        lower_bound(key): separators give the child, binary search the slot
//         │ a … │ ⇄ │ … │ ⇄ │ b … │ ⇄ │ … │        index_of: the numbers in front, summed on the way up
//
// Part of counted_tree. Each call with a key takes the comparison, and needs an order.
//
// place_of, lower_bound, upper_bound, find, nth, index_of, lower_index, upper_index: O(log size()). step: O(1).
// is_sound: O(size()). Thread-safe as long as no thread changes the tree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "../../core/abi.hpp"
#include "counted_tree_body.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class T, class Alloc, class Order, class Shape, class Tracking>
class counted_tree_search : protected counted_tree_body<T, Alloc, Order, Shape, Tracking> {
    using body = counted_tree_body<T, Alloc, Order, Shape, Tracking>;

  protected:
    using body::first_;
    using body::height_;
    using body::inner_alloc_;
    using body::inner_slots;
    using body::last_;
    using body::leaf_alloc_;
    using body::leaf_slots;
    using body::root_;
    using body::size_;
    using typename body::inner;
    using typename body::leaf_traits;
    using typename body::node;
    using typename body::nodes;
    using typename body::separator;

    using typename body::leaf_alloc;
    using typename body::spare_nodes;

  public:
    using typename body::leaf;
    using value_type = T;
    using allocator_type = Alloc;

    // An element or the end, which lies behind the last slot of the last leaf. An empty tree has no leaf.
    struct position {
        leaf* at = nullptr;
        std::size_t slot = 0;

        [[nodiscard]] T& value() const noexcept { return at->slots[slot].value(); }
        friend bool operator==(const position&, const position&) = default;
    };

    // The place of an element with a key, existing or new: the next element in front of it that may share its leaf.
    struct place {
        leaf* at;
        std::size_t slot;
        bool is_found;              // the element there has that key
        std::uint8_t children[64];  // the index of each child on the way there, lowest first
        static_assert(Shape::inner_slots <= 256);

        [[nodiscard]] position found() const noexcept { return normal({at, slot}); }
    };

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t max_size() const noexcept {
        return std::min(leaf_traits::max_size(leaf_alloc_), static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T));
    }
    [[nodiscard]] std::size_t height() const noexcept { return root_ == nullptr ? 0 : height_ + 1; }

    [[nodiscard]] position begin() const noexcept { return {first_, 0}; }
    [[nodiscard]] position end() const noexcept { return {last_, last_ == nullptr ? 0 : last_->n}; }

    // Effects: moves to the next element or the end; or to the previous one. Leaves are not empty.
    static void step(position& from) noexcept {
        if (++from.slot < from.at->n || from.at->next == nullptr) [[likely]]
            return;
        from = {from.at->next, 0};
        prefetch(from.at->next);
    }
    static void step_back(position& from) noexcept {
        if (from.slot == 0) [[unlikely]]
            from = {from.at->previous, from.at->previous->n};
        --from.slot;
    }

    // Effects: calls each(first element, number of elements) for every leaf, in order.
    template <class Each>
    void for_each_leaf(Each each) const {
        static_assert(is_kept_in_leaf<T>);
        for (leaf* at = first_; at != nullptr; at = at->next) {
            prefetch(at->next);
            each(reinterpret_cast<T*>(at->slots), static_cast<std::size_t>(at->n));
        }
    }

    // Effects: prefetches a leaf or an inner node that is read soon.
    static void prefetch(const void* at) noexcept {
        const char* const bytes = static_cast<const char*>(at);
        for (std::size_t i = 0; i < std::min<std::size_t>(sizeof(leaf), 512); i += 64) __builtin_prefetch(bytes + i);
    }

    // Returns: element number `index`, the end for size().
    [[nodiscard]] position nth(std::size_t index) const noexcept {
        if (index >= size_) return end();
        node* at = root_;
        for (std::size_t level = height_; level > 0; --level) {
            inner* const parent = static_cast<inner*>(at);
            at = parent->children[parent->child_with(index)];
        }
        return {static_cast<leaf*>(at), index};
    }

    // Returns: the last leaf of the tree to which a leaf belongs.
    [[nodiscard]] static leaf* last_beside(leaf* any) noexcept {
        std::size_t levels = 0;
        node* const root = root_above(any, levels);
        return body::last_leaf(root, levels);
    }
    // Returns: element number `index` of the tree to which a leaf belongs; a slot behind its last leaf if it does not
    // exist.
    [[nodiscard]] static position nth_beside(leaf* any, std::size_t index) noexcept {
        std::size_t levels = 0;
        node* at = root_above(any, levels);
        for (; levels > 0; --levels) {
            inner* const parent = static_cast<inner*>(at);
            std::size_t i = 0;
            while (i + 1 < parent->n && index >= parent->counts[i]) index -= parent->counts[i++];
            at = parent->children[i];
        }
        return {static_cast<leaf*>(at), index};
    }

    // Returns: the number of elements before this one. For the end: size().
    [[nodiscard]] static std::size_t index_of(const position& of) noexcept {
        std::size_t before = of.slot;
        const node* below = of.at;
        if (below == nullptr) return 0;
        for (const inner* parent = below->parent; parent != nullptr; below = parent, parent = parent->parent)
            before += parent->sum(0, parent->index_of(below));
        return before;
    }

    // Returns: the place of the element that is equivalent to `key`, or the place for it. For trees of unique keys.
    template <class Key, class Compare>
    [[nodiscard]] place place_of(const Key& key, const Compare& compare) const {
        place to;
        to.at = descend<true>(key, compare, to.children);
        to.slot = to.at == nullptr ? 0 : slots_before(to.at, key, compare);
        to.is_found = to.at != nullptr && to.slot < to.at->n && !compare(key, key_at(to.at, to.slot));
        return to;
    }
    // Returns: the place behind all elements that are not greater. For trees of equivalent keys.
    template <class Key, class Compare>
    [[nodiscard]] place place_behind(const Key& key, const Compare& compare) const {
        place to;
        to.at = descend<true>(key, compare, to.children);
        to.slot = to.at == nullptr ? 0 : slots_not_behind(to.at, key, compare);
        to.is_found = false;
        return to;
    }

    // Returns: the element with `key` in a tree of unique keys, or the end.
    template <class Key, class Compare>
    [[nodiscard]] position find(const Key& key, const Compare& compare) const {
        leaf* const at = descend<true>(key, compare, nullptr);
        if (at == nullptr) return end();
        const std::size_t slot = slots_before(at, key, compare);
        return slot < at->n && !compare(key, key_at(at, slot)) ? position{at, slot} : end();
    }
    // Returns: the first element that is not less, or greater; the end if no element is.
    template <class Key, class Compare>
    [[nodiscard]] position lower_bound(const Key& key, const Compare& compare) const {
        leaf* const at = descend<false>(key, compare, nullptr);
        return at == nullptr ? end() : normal({at, slots_before(at, key, compare)});
    }
    template <class Key, class Compare>
    [[nodiscard]] position upper_bound(const Key& key, const Compare& compare) const {
        leaf* const at = descend<true>(key, compare, nullptr);
        return at == nullptr ? end() : normal({at, slots_not_behind(at, key, compare)});
    }

    // Returns: the number of the element that lower_bound or upper_bound would find.
    template <class Key, class Compare>
    [[nodiscard]] std::size_t lower_index(const Key& key, const Compare& compare) const {
        std::size_t before = 0;
        leaf* const at = descend<false>(key, compare, nullptr, &before);
        return at == nullptr ? 0 : before + slots_before(at, key, compare);
    }
    template <class Key, class Compare>
    [[nodiscard]] std::size_t upper_index(const Key& key, const Compare& compare) const {
        std::size_t before = 0;
        leaf* const at = descend<true>(key, compare, nullptr, &before);
        return at == nullptr ? 0 : before + slots_not_behind(at, key, compare);
    }

    // Returns: true if numbers, links, parents, separators and fill are correct. For tests; O(size()).
    template <class Compare>
    [[nodiscard]] bool is_sound(const Compare& compare) const {
        const leaf* last = nullptr;
        if (root_ == nullptr) return size_ == 0 && height_ == 0 && first_ == nullptr && last_ == nullptr;
        return root_->parent == nullptr && (height_ == 0 || root_->n > 1) &&
               count_sound(root_, height_, last, compare) == size_ && last == last_ && last_->next == nullptr;
    }

  protected:
    counted_tree_search() = default;
    explicit counted_tree_search(const Alloc& alloc) noexcept : body(alloc) {}

    [[nodiscard]] static position normal(const position& of) noexcept {
        if (of.at != nullptr && of.slot == of.at->n && of.at->next != nullptr) return {of.at->next, 0};
        return of;
    }

  private:
    // Effects: sets `levels` to the number of inner nodes from the root down to the leaf.
    [[nodiscard]] static node* root_above(node* at, std::size_t& levels) noexcept {
        for (levels = 0; at->parent != nullptr; ++levels) at = at->parent;
        return at;
    }

    [[nodiscard]] static decltype(auto) key_at(leaf* at, std::size_t slot) noexcept {
        return Order::key(at->slots[slot].value());
    }

    // Returns: the number of leading entries, of the first `n`, for which `before` is true.
    template <class Before>
    [[nodiscard]] static std::size_t count_before(std::size_t n, Before before) {
        std::size_t first = 0;
        while (n > 1) {
            const std::size_t half = n / 2;
            first += before(first + half - 1) ? half : 0;
            n -= half;
        }
        return first + (n == 1 && before(first) ? 1 : 0);
    }
    template <class Key, class Compare>
    [[nodiscard]] static std::size_t slots_before(leaf* at, const Key& key, const Compare& compare) {
        return count_before(at->n, [&](std::size_t i) -> bool { return compare(key_at(at, i), key); });
    }
    template <class Key, class Compare>
    [[nodiscard]] static std::size_t slots_not_behind(leaf* at, const Key& key, const Compare& compare) {
        return count_before(at->n, [&](std::size_t i) -> bool { return !compare(key, key_at(at, i)); });
    }

    // Returns: the leaf that contains elements with `key`: with Rightmost the last one, else the first one.
    template <bool Rightmost, class Key, class Compare>
    [[nodiscard]] leaf* descend(const Key& key, const Compare& compare, std::uint8_t* children,
                                std::size_t* before = nullptr) const {
        node* at = root_;
        for (std::size_t level = height_; level > 0; --level) {
            inner* const parent = static_cast<inner*>(at);
            const auto* const bounds = parent->bounds.at + 1;
            const std::size_t i = count_before(parent->n - 1, [&](std::size_t j) -> bool {
                if constexpr (Rightmost) {
                    return !compare(key, separator::key(bounds[j]));
                } else {
                    return compare(separator::key(bounds[j]), key);
                }
            });
            at = parent->children[i];
            prefetch(at);
            if (children != nullptr) children[level - 1] = static_cast<std::uint8_t>(i);
            if (before != nullptr) *before += parent->sum(0, i);
        }
        return static_cast<leaf*>(at);
    }

    static constexpr std::size_t unsound = static_cast<std::size_t>(-1);

    // Returns: the number of elements below a node, or `unsound`. `last`: the leaf before.
    template <class Compare>
    std::size_t count_sound(const node* top, std::size_t level, const leaf*& last, const Compare& compare) const {
        if (top->n == 0 || top->n > (level == 0 ? leaf_slots : inner_slots)) return unsound;
        if (level == 0) {
            const leaf* const at = static_cast<const leaf*>(top);
            const bool is_linked = at->previous == last && (last == nullptr ? first_ == at : last->next == at);
            last = at;
            return is_linked ? at->n : unsound;
        }
        const inner* const parent = static_cast<const inner*>(top);
        std::size_t sum = 0;
        for (std::size_t i = 0; i < parent->n; ++i) {
            const leaf* const before = last;
            const node* const child = parent->children[i];
            if (child->parent != parent || count_sound(child, level - 1, last, compare) != parent->counts[i])
                return unsound;
            if (i != 0 && !is_bound(parent, i, level, before, compare)) return unsound;
            sum += parent->counts[i];
        }
        return sum;
    }
    template <class Compare>
    bool is_bound(const inner* parent, std::size_t i, std::size_t level, const leaf* before,
                  const Compare& compare) const {
        if constexpr (nodes::is_ordered) {
            leaf* const first = this->first_leaf(parent->children[i], level - 1);
            if (!separator::is_copy && separator::make(first) != parent->bound(i)) return false;
            const auto bound = parent->bound(i);
            return !compare(separator::key(bound), Order::key(before->slots[before->n - 1].value())) &&
                   !compare(key_at(first, 0), separator::key(bound));
        }
        return true;
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
