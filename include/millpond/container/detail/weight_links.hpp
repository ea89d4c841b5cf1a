// SPDX-License-Identifier: BSL-1.0
// weight_links: the links of a weight-balanced tree, without the values, so that trees of every type share this code.
//
//   head ──child[left]──▶ root            child[2], parent, size: 32 bytes; the size is the balance, and the rank
//     └────child[right]─▶ first                   ┌── 5 ──┐
//                                              ┌─ 3 ─┐    1      size: of the node and all below it
//                                              1     1
//
// Part of weight_tree. The weight of a subtree is its size + 1. Neither sibling weighs more than three times the other,
// which bounds the height by 2.41 log2(n) and keeps it near log2(n) in practice (parameters 3 and 2 of Hirai and
// Yamamoto, "Balancing weight-balanced trees", 2011). A climb computes each sibling's size from the parent's, without
// reading the sibling. So an insertion touches no node that its descent did not touch, unless it rotates. The head is
// the end: it has no parent, and its size is that of the whole tree.
//
// link, unlink, nth, index_of: O(log n). next, previous: O(1) amortised. Throws and allocates nothing. Not thread-safe.
#pragma once

#include <cstddef>
#include <utility>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

struct weight_links {
    static constexpr unsigned left = 0;
    static constexpr unsigned right = 1;

    weight_links* child[2];
    weight_links* parent;
    std::size_t size;

    [[nodiscard]] static std::size_t size_of(const weight_links* tree) noexcept {
        return tree == nullptr ? 0 : tree->size;
    }
    [[nodiscard]] unsigned side() const noexcept { return parent->child[left] == this ? left : right; }
    [[nodiscard]] bool is_head() const noexcept { return parent == nullptr; }
    [[nodiscard]] weight_links* outermost(unsigned side) noexcept {
        weight_links* node = this;
        while (node->child[side] != nullptr) node = node->child[side];
        return node;
    }

    // Returns: the node in front of this one. The head's is the last.
    [[nodiscard]] weight_links* previous() noexcept {
        if (child[left] != nullptr) return child[left]->outermost(right);
        weight_links* node = this;
        while (node->side() == left) node = node->parent;
        return node->parent;
    }
    // Returns: the node behind this one, which is not the head. The last one's is the head.
    [[nodiscard]] weight_links* next() noexcept {
        if (child[right] != nullptr) return child[right]->outermost(left);
        weight_links* node = this;
        while (node->side() == right) node = node->parent;
        return node->parent;
    }

    void set_child(unsigned side, weight_links* node) noexcept {
        child[side] = node;
        if (node != nullptr) node->parent = this;
    }
};

// The place of a new node: below `parent` on that side. `at` is the node that will be behind it.
struct weight_place {
    weight_links* at;
    weight_links* parent;
    unsigned side;
};

// Nodes in order, linked by child[right], from which a tree is built.
struct weight_row {
    weight_links* first = nullptr;
    weight_links* last = nullptr;
    std::size_t size = 0;

    void append(weight_links* node) noexcept {
        node->child[weight_links::right] = nullptr;
        (last == nullptr ? first : last->child[weight_links::right]) = node;
        last = node;
        ++size;
    }
};

class weight_head {
  public:
    weight_head() noexcept { clear(); }
    weight_head(const weight_head&) = delete;
    weight_head& operator=(const weight_head&) = delete;

    [[nodiscard]] weight_links* begin() const noexcept { return head_.child[right]; }
    [[nodiscard]] weight_links* end() const noexcept { return const_cast<weight_links*>(&head_); }
    [[nodiscard]] weight_links* root() const noexcept { return head_.child[left]; }
    [[nodiscard]] std::size_t size() const noexcept { return head_.size; }

    // Effects: forgets all nodes; their owner frees them.
    void clear() noexcept { head_ = {{nullptr, &head_}, nullptr, 0}; }

    // Effects: takes all nodes of `other`, and forgets those that were here.
    void take(weight_head& other) noexcept {
        if (other.size() == 0) return clear();
        head_ = other.head_;
        head_.child[left]->parent = &head_;
        other.clear();
    }
    void swap(weight_head& other) noexcept {
        weight_head between;
        between.take(other);
        other.take(*this);
        take(between);
    }

    // Effects: takes the nodes of the row, as a tree of least height.
    void build(weight_row row) noexcept {
        clear();
        if (row.size == 0) return;
        head_.child[right] = row.first;
        head_.set_child(left, built(row.first, row.size));
        head_.size = row.size;
    }

    // Returns: the place directly before `at`.
    [[nodiscard]] weight_place place_before(weight_links* at) const noexcept {
        if (at->child[left] == nullptr) return {at, at, left};
        return {at, at->child[left]->outermost(right), right};
    }

    // Returns: the node with `index` nodes in front of it; the end if there are not so many.
    [[nodiscard]] weight_links* nth(std::size_t index) const noexcept {
        weight_links* node = root();
        while (node != nullptr) {
            const std::size_t before = weight_links::size_of(node->child[left]);
            if (index == before) return node;
            const bool goes_right = index > before;
            if (goes_right) index -= before + 1;
            node = node->child[goes_right ? right : left];
        }
        return end();
    }

    // Returns: the number of nodes in front of this one.
    [[nodiscard]] static std::size_t index_of(const weight_links* node) noexcept {
        if (node->is_head()) return node->size;
        std::size_t index = weight_links::size_of(node->child[left]);
        for (const weight_links* parent = node->parent; !parent->is_head(); parent = parent->parent) {
            if (parent->child[right] == node) index += parent->size - node->size;
            node = parent;
        }
        return index;
    }

    // Returns: true if the node, or end, belongs to this tree. O(log n).
    [[nodiscard]] bool owns(const weight_links* node) const noexcept {
        while (!node->is_head()) node = node->parent;
        return node == &head_;
    }

    void link(weight_place place, weight_links* node) noexcept {
        *node = {{nullptr, nullptr}, place.parent, 1};
        if (place.side == left && place.parent == head_.child[right]) head_.child[right] = node;
        place.parent->child[place.side] = node;
        for (weight_links* parent = place.parent; !parent->is_head(); parent = parent->parent) {
            const std::size_t besides = ++parent->size - node->size;  // the weight of the sibling
            if (is_too_heavy(node->size + 1, besides)) [[unlikely]]
                parent = lift(node);
            node = parent;
        }
        ++head_.size;
    }

    void unlink(weight_links* node) noexcept {
        if (node == head_.child[right]) head_.child[right] = node->next();
        if (node->child[left] != nullptr && node->child[right] != nullptr) {
            const bool is_left_larger = node->child[left]->size > node->child[right]->size;
            change_places(node,
                          is_left_larger ? node->child[left]->outermost(right) : node->child[right]->outermost(left));
        }
        weight_links* const below = node->child[left] != nullptr ? node->child[left] : node->child[right];
        weight_links* parent = node->parent;
        unsigned side = node->side();
        parent->set_child(side, below);
        std::size_t size = weight_links::size_of(below);
        while (!parent->is_head()) {
            const std::size_t besides = --parent->size - size;
            if (is_too_heavy(besides, size + 1)) [[unlikely]]
                parent = lift(parent->child[1 - side]);
            size = parent->size;
            side = parent->side();
            parent = parent->parent;
        }
        --head_.size;
    }

    // Returns: true if links, sizes and weights are correct. For tests; O(n).
    [[nodiscard]] bool is_sound() const noexcept {
        const weight_links* const first = root() == nullptr ? &head_ : root()->outermost(left);
        return head_.is_head() && begin() == first && size() == weight_links::size_of(root()) &&
               is_sound(&head_, root());
    }

  private:
    static constexpr unsigned left = weight_links::left;
    static constexpr unsigned right = weight_links::right;

    [[nodiscard]] static bool is_too_heavy(std::size_t weight, std::size_t sibling) noexcept {
        return weight > 3 * sibling;
    }

    // Effects: moves the node to its parent's place, or its inner child if that is the heavier one. Returns: the one
    // that moved.
    static weight_links* lift(weight_links* node) noexcept {
        const unsigned side = node->side();
        weight_links* const inner = node->child[1 - side];
        if (weight_links::size_of(inner) + 1 < 2 * (weight_links::size_of(node->child[side]) + 1)) {
            rotate(node, side);
            return node;
        }
        rotate(inner, 1 - side);
        rotate(inner, side);
        return inner;
    }

    // Effects: moves the node, which is on that side of its parent, to the parent's place; the parent goes below it.
    static void rotate(weight_links* node, unsigned side) noexcept {
        weight_links* const parent = node->parent;
        weight_links* const above = parent->parent;
        const unsigned parents_side = parent->side();
        const std::size_t whole = parent->size;
        weight_links* const inner = node->child[1 - side];
        parent->size = whole - node->size + weight_links::size_of(inner);
        parent->set_child(side, inner);
        node->set_child(1 - side, parent);
        node->size = whole;
        above->set_child(parents_side, node);
    }

    // Effects: exchanges the places of two nodes. `lower` lies below `upper`.
    static void change_places(weight_links* upper, weight_links* lower) noexcept {
        const weight_links was_upper = *upper, was_lower = *lower;
        const unsigned upper_side = upper->side();
        const unsigned lower_side = lower->side();
        lower->size = was_upper.size;
        lower->set_child(left, was_upper.child[left]);
        lower->set_child(right, was_upper.child[right]);
        upper->size = was_lower.size;
        upper->set_child(left, was_lower.child[left]);
        upper->set_child(right, was_lower.child[right]);
        (was_lower.parent == upper ? lower : was_lower.parent)->set_child(lower_side, upper);
        was_upper.parent->set_child(upper_side, lower);
    }

    [[nodiscard]] static bool is_sound(const weight_links* parent, const weight_links* node) noexcept {
        if (node == nullptr) return true;
        const std::size_t below[2] = {weight_links::size_of(node->child[left]),
                                      weight_links::size_of(node->child[right])};
        return node->parent == parent && node->size == below[left] + below[right] + 1 &&
               !is_too_heavy(below[left] + 1, below[right] + 1) && !is_too_heavy(below[right] + 1, below[left] + 1) &&
               is_sound(node, node->child[left]) && is_sound(node, node->child[right]);
    }

    // Effects: builds a tree of the first `size` nodes of a row; `next` is the one behind them. Returns: its root.
    static weight_links* built(weight_links*& next, std::size_t size) noexcept {
        if (size == 0) return nullptr;
        weight_links* const below = built(next, size / 2);
        weight_links* const node = next;
        next = node->child[right];
        node->size = size;
        node->set_child(left, below);
        node->set_child(right, built(next, size - size / 2 - 1));
        return node;
    }

    weight_links head_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
