// SPDX-License-Identifier: BSL-1.0
// counted_tree_body: the nodes of a counted_tree: it allocates them, finds elements by number, splits full nodes and
// fills sparse ones.
//
//   add_behind:  │ left │ ─▶ │ left │ right │ in the parent; a full parent is split likewise, up to a new root
//   repair(i):   on the way to element i no node stays sparse: it takes entries of a neighbour, or the two become one
//
// Part of counted_tree. Nodes that an insertion needs are allocated before anything changes (spare_nodes).
//
// add_behind, repair, nth, index_of: O(log size). free_below: O(nodes), and elements with destructors. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/detail/upstream_memory.hpp"
#include "counted_tree_nodes.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class T, class Alloc, class Order, class Shape, class Tracking>
class counted_tree_body {
  protected:
    using nodes = tree_nodes<T, Order, Shape, Tracking>;
    using node = typename nodes::node;
    using inner = typename nodes::inner;
    using leaf = typename nodes::leaf;
    using separator = typename nodes::separator;
    using separator_type = typename nodes::separator_type;
    using leaf_alloc = typename std::allocator_traits<Alloc>::template rebind_alloc<leaf>;
    using inner_alloc = typename std::allocator_traits<Alloc>::template rebind_alloc<inner>;
    using leaf_traits = std::allocator_traits<leaf_alloc>;

    static constexpr std::size_t leaf_slots = Shape::leaf_slots;
    static constexpr std::size_t inner_slots = Shape::inner_slots;
    // Nodes with fewer entries are sparse.
    static constexpr std::size_t min_slots = leaf_slots / 3 > 0 ? leaf_slots / 3 : 1;
    static constexpr std::size_t min_children = inner_slots / 3 > 2 ? inner_slots / 3 : 2;

    counted_tree_body() = default;
    explicit counted_tree_body(const Alloc& alloc) noexcept : leaf_alloc_(alloc), inner_alloc_(alloc) {}

    // Nodes that are ready for an insertion; those that it does not use are freed.
    class spare_nodes {
      public:
        explicit spare_nodes(counted_tree_body& tree) noexcept : tree_(tree) {}
        spare_nodes(const spare_nodes&) = delete;
        spare_nodes& operator=(const spare_nodes&) = delete;
        ~spare_nodes() {
            while (inners_ != nullptr) tree_.free_inner(take_inner());
            if (leaf_ != nullptr) tree_.free_leaf(leaf_);
        }

        void add_leaf() { leaf_ = tree_.new_leaf(); }
        void add_inner() {
            inner* const added = tree_.new_inner();
            added->parent = inners_;
            inners_ = added;
        }
        // Effects: adds as many inner nodes as add_behind needs below `parent`.
        void add_inners_for(const inner* parent) {
            for (; parent != nullptr && parent->n == inner_slots; parent = parent->parent) add_inner();
            if (parent == nullptr) add_inner();
        }

        [[nodiscard]] leaf* take_leaf() noexcept { return std::exchange(leaf_, nullptr); }
        [[nodiscard]] inner* take_inner() noexcept {
            inner* const taken = inners_;
            inners_ = taken->parent;
            taken->parent = nullptr;
            return taken;
        }

      private:
        counted_tree_body& tree_;
        inner* inners_ = nullptr;
        leaf* leaf_ = nullptr;
    };

    [[nodiscard]] leaf* new_leaf() { return std::construct_at(allocate_at_address(leaf_alloc_, 1)); }
    [[nodiscard]] inner* new_inner() { return std::construct_at(allocate_at_address(inner_alloc_, 1)); }
    void free_leaf(leaf* gone) noexcept {
        std::destroy_at(gone);
        deallocate_at_address(leaf_alloc_, gone, 1);
    }
    void free_inner(inner* gone) noexcept {
        std::destroy_at(gone);
        deallocate_at_address(inner_alloc_, gone, 1);
    }

    void destroy_slots(leaf* from, std::size_t first, std::size_t last) noexcept {
        Tracking::erased(from, first, last - first);
        if constexpr (!std::is_trivially_destructible_v<T> || !is_kept_in_leaf<T>)
            for (; first < last; ++first) from->slots[first].destroy(leaf_alloc_);
    }

    // Effects: destroys all elements below `top`, which is `level` inner nodes above the leaves, and frees its nodes.
    void free_below(node* top, std::size_t level) noexcept {
        if (level == 0) {
            leaf* const gone = static_cast<leaf*>(top);
            destroy_slots(gone, 0, gone->n);
            nodes::unlink(gone);
            return free_leaf(gone);
        }
        inner* const gone = static_cast<inner*>(top);
        for (std::size_t i = 0; i < gone->n; ++i) free_below(gone->children[i], level - 1);
        free_inner(gone);
    }

    // Returns: the first or last leaf below a node.
    [[nodiscard]] static leaf* first_leaf(node* top, std::size_t level) noexcept {
        for (; level > 0; --level) top = static_cast<inner*>(top)->children[0];
        return static_cast<leaf*>(top);
    }
    [[nodiscard]] static leaf* last_leaf(node* top, std::size_t level) noexcept {
        for (; level > 0; --level) top = static_cast<inner*>(top)->children[top->n - 1];
        return static_cast<leaf*>(top);
    }

    // Effects: adds to the count of every node above `below`. Negative numbers wrap.
    static void add_above(node* below, std::size_t number) noexcept {
        for (inner* parent = below->parent; parent != nullptr; below = parent, parent = parent->parent)
            parent->counts[parent->index_of(below)] += number;
    }

    // Effects: renews the separator in front of a leaf, after its first element changed.
    static void renew_bound(leaf* from) noexcept {
        if constexpr (nodes::is_ordered) {
            node* below = from;
            for (inner* parent = from->parent; parent != nullptr; below = parent, parent = parent->parent) {
                const std::size_t i = parent->index_of(below);
                if (i != 0) return parent->set_bound(i, separator::make(from));
            }
        }
    }

    // Effects: makes `right` the node behind `left`; the counts above `left` include its elements already. `i`: the
    // index of `left` in its parent. `at_end`: more will come behind it, so full nodes stay full.
    void add_behind(node* left, std::size_t i, node* right, std::size_t right_size, separator_type bound,
                    spare_nodes& spare, bool at_end) noexcept {
        for (;;) {
            inner* const parent = left->parent;
            if (parent == nullptr) return add_root(left, right, right_size, bound, spare);
            parent->counts[i] -= right_size;
            if (parent->n < inner_slots) return nodes::insert_entry(parent, i + 1, right, right_size, bound);
            inner* const added = spare.take_inner();
            const std::size_t cut = at_end && i + 1 == inner_slots ? inner_slots : inner_slots / 2;
            nodes::copy_entries(parent, cut, inner_slots, added, 0);
            added->n = static_cast<std::uint32_t>(inner_slots - cut);
            parent->n = static_cast<std::uint32_t>(cut);
            if (i + 1 <= cut && cut < inner_slots) {
                nodes::insert_entry(parent, i + 1, right, right_size, bound);
            } else {
                nodes::insert_entry(added, i + 1 - cut, right, right_size, bound);
            }
            left = parent;
            right = added;
            right_size = added->sum(0, added->n);
            bound = added->bound(0);
            if (parent->parent != nullptr) i = parent->parent->index_of(parent);
        }
    }

    void add_root(node* left, node* right, std::size_t right_size, separator_type bound, spare_nodes& spare) noexcept {
        inner* const top = spare.take_inner();
        nodes::insert_entry(top, 0, left, size_ - right_size, bound);
        nodes::insert_entry(top, 1, right, right_size, bound);
        root_ = top;
        ++height_;
    }

    [[nodiscard]] static bool is_sparse(const node* of, std::size_t level) noexcept {
        return of->n < (level == 0 ? min_slots : min_children);
    }

    // Effects: mends every sparse node on the way to element `index`, and on the way to the element before it.
    void repair(std::size_t index) noexcept {
        if (size_ == 0) return;
        while (repair_once(index < size_ ? index : size_ - 1)) {
        }
        if (index != 0)
            while (repair_once(index - 1)) {
            }
    }

    // Returns: true if something was changed, so that there may be more to do.
    [[nodiscard]] bool repair_once(std::size_t index) noexcept {
        if (height_ != 0 && root_->n == 1) return drop_root(), true;
        node* at = root_;
        for (std::size_t level = height_; level > 0; --level) {
            inner* const parent = static_cast<inner*>(at);
            const std::size_t i = parent->child_with(index);
            at = parent->children[i];
            if (is_sparse(at, level - 1)) return fill_up(parent, i == 0 ? 0 : i - 1, level - 1), true;
        }
        return false;
    }

    void drop_root() noexcept {
        inner* const gone = static_cast<inner*>(root_);
        root_ = gone->children[0];
        root_->parent = nullptr;
        free_inner(gone);
        --height_;
    }

    // Effects: joins the two children at `i`, or gives each the same number of entries.
    void fill_up(inner* parent, std::size_t i, std::size_t level) noexcept {
        node* const left = parent->children[i];
        node* const right = parent->children[i + 1];
        const std::size_t sum = left->n + right->n;
        const bool is_one = sum <= (level == 0 ? leaf_slots : inner_slots);
        const std::size_t to_left = is_one ? sum : sum / 2;
        const std::size_t before = left->n;
        std::size_t moved = 0;
        if (level == 0) {
            moved = shift(static_cast<leaf*>(left), static_cast<leaf*>(right), to_left);
        } else {
            moved = shift(static_cast<inner*>(left), static_cast<inner*>(right), to_left, parent->bound(i + 1));
        }
        parent->counts[i] += before <= to_left ? moved : std::size_t{0} - moved;
        parent->counts[i + 1] -= before <= to_left ? moved : std::size_t{0} - moved;
        if (is_one) {
            nodes::remove_entries(parent, i + 1, i + 2);
            level == 0 ? drop_leaf(static_cast<leaf*>(right)) : free_inner(static_cast<inner*>(right));
        } else {
            if constexpr (nodes::is_ordered) {
                parent->set_bound(i + 1, level == 0 ? separator::make(static_cast<leaf*>(right))
                                                    : static_cast<inner*>(right)->bound(0));
            }
        }
    }

    // Effects: moves entries so that `left` has `to_left`. Returns: the number of elements that went to the other side.
    std::size_t shift(leaf* left, leaf* right, std::size_t to_left) noexcept {
        if (left->n <= to_left) {
            const std::size_t n = to_left - left->n;
            nodes::shift_left(leaf_alloc_, left, right, n);
            return n;
        }
        const std::size_t n = left->n - to_left;
        nodes::shift_right(leaf_alloc_, left, right, n);
        return n;
    }
    std::size_t shift(inner* left, inner* right, std::size_t to_left, separator_type bound) noexcept {
        if (left->n <= to_left) {
            const std::size_t n = to_left - left->n;
            const std::size_t moved = right->sum(0, n);
            nodes::shift_left(left, right, n, bound);
            return moved;
        }
        const std::size_t n = left->n - to_left;
        const std::size_t moved = left->sum(to_left, left->n);
        nodes::shift_right(left, right, n, bound);
        return moved;
    }

    void drop_leaf(leaf* gone) noexcept {
        if (gone == last_) last_ = gone->previous;
        if (gone == first_) first_ = gone->next;
        nodes::unlink(gone);
        free_leaf(gone);
    }

    node* root_ = nullptr;
    std::size_t height_ = 0;  // inner nodes above each leaf
    std::size_t size_ = 0;
    leaf* first_ = nullptr;
    leaf* last_ = nullptr;
    [[no_unique_address]] leaf_alloc leaf_alloc_;
    [[no_unique_address]] inner_alloc inner_alloc_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
