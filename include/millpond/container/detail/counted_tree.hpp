// SPDX-License-Identifier: BSL-1.0
// counted_tree: a B+-tree whose inner nodes count the elements below each child; the core of vector_tree and of the
// ordered_ sets and maps.
//
//                     │ 70 │ 52 │ 61 │               element 75 is number 5 below the second child
//              ┌────────┘    │     └──────┐
//         │ a … │ ⇄ │ … │ ⇄ │ b … │ ⇄ │ … │         leaves of 512 bytes, linked; all elements are here
//
// A position, a leaf and a slot, names an element; every change invalidates all positions except those it returns.
// Order is a policy: no_order, or a struct with key_type and `static const key_type& key(const T&)`. Shape defines the
// number of entries in nodes (tree_shape); Tracking is told of elements that move.
//
// counted_tree_search has the constant members. emplace, erase, split, append(tree): O(log size()). erase(range): O(log
// size() + elements erased). append_all: O(elements).
// Guarantee: strong, for emplace, split and append(tree); erase throws nothing. An element whose move may throw has
// memory of its own (leaf_slot). append_all keeps what was appended before an exception. Not thread-safe; several
// threads may make constant calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "../../core/abi.hpp"
#include "counted_tree_search.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class T, class Alloc, class Order = no_order, class Shape = tree_shape<T, Order>, class Tracking = no_tracker>
class counted_tree : public counted_tree_search<T, Alloc, Order, Shape, Tracking> {
    using base = counted_tree_search<T, Alloc, Order, Shape, Tracking>;
    using base::first_;
    using base::height_;
    using base::inner_alloc_;
    using base::last_;
    using base::leaf_alloc_;
    using base::leaf_slots;
    using base::normal;
    using base::root_;
    using base::size_;
    using typename base::inner;
    using typename base::node;
    using typename base::nodes;
    using typename base::separator;
    using typename base::spare_nodes;

  public:
    using base::end;
    using base::index_of;
    using base::nth;
    using typename base::leaf;
    using typename base::place;
    using typename base::position;

    counted_tree() = default;
    explicit counted_tree(const Alloc& alloc) noexcept : base(alloc) {}
    counted_tree(counted_tree&& other) noexcept : base(other.get_allocator()) { take(other); }
    counted_tree(const counted_tree&) = delete;
    counted_tree& operator=(const counted_tree&) = delete;
    counted_tree& operator=(counted_tree&&) = delete;
    ~counted_tree() { clear(); }

    [[nodiscard]] Alloc get_allocator() const noexcept { return Alloc(leaf_alloc_); }
    // Effects: takes the allocator of `other`. The tree must be empty, or take the elements of `other` as well.
    void set_allocator(const counted_tree& other) noexcept {
        leaf_alloc_ = other.leaf_alloc_;
        inner_alloc_ = other.inner_alloc_;
    }

    // Effects: makes an element in front of `before`, or at a place found in this tree. Returns: its position.
    template <class Place, class... Arguments>
    position emplace(const Place& to, Arguments&&... arguments) {
        held_element<T, typename base::leaf_alloc> held(leaf_alloc_, std::forward<Arguments>(arguments)...);
        return insert(to, held);
    }
    // The same for an element that exists already: calls held.pass_on(slot) when nothing can fail any more.
    template <class Held>
    position insert(const position& before, Held& held) {
        if (before.at == nullptr) return put_first(held);
        position to = before;
        if (to.slot == 0 && to.at->previous != nullptr && to.at->previous->n < leaf_slots) {
            this->renew_bound(to.at);  // the bound may be that of an element in front of the new one, erased since
            to = {to.at->previous, to.at->previous->n};
        }
        if (to.at->n == leaf_slots) return put_in_full(to, held);
        this->add_above(to.at, 1);
        return put(to, held);
    }
    template <class Held>
    position insert(const place& to, Held& held) {
        if (to.at == nullptr) return put_first(held);
        if (to.at->n == leaf_slots) [[unlikely]]
            return put_in_full({to.at, to.slot}, held);
        const std::uint8_t* child = to.children;
        for (inner* parent = to.at->parent; parent != nullptr; parent = parent->parent) ++parent->counts[*child++];
        return put({to.at, to.slot}, held);
    }

    // Effects: appends elements as long as make(allocator, slot) creates one there and returns true.
    template <class Make>
    void append_all(Make make) {
        for (bool is_more = true; is_more;) {
            spare_nodes spare(*this);
            leaf* to = last_;
            if (to == nullptr || to->n == leaf_slots) {
                spare.add_leaf();
                if (to != nullptr) spare.add_inners_for(to->parent);
                to = spare.take_leaf();
            }
            leaf_filler filled(*this, spare, to);
            while (is_more && filled.n < leaf_slots) {
                is_more = make(leaf_alloc_, to->slots[filled.n]);
                if (is_more) ++filled.n;
            }
        }
    }

    // Effects: destroys an element. Returns: the new position of the one behind it.
    position erase(const position& gone) noexcept {
        if (is_last_of_leaf(gone.at)) return erase_with_leaf(gone);
        this->add_above(gone.at, static_cast<std::size_t>(-1));
        return remove(gone);
    }
    // The same, at a place found in this tree.
    position erase(const place& gone) noexcept {
        if (is_last_of_leaf(gone.at)) return erase_with_leaf({gone.at, gone.slot});
        const std::uint8_t* child = gone.children;
        for (inner* parent = gone.at->parent; parent != nullptr; parent = parent->parent) --parent->counts[*child++];
        return remove({gone.at, gone.slot});
    }
    // Effects: destroys the elements with numbers [first, last).
    void erase(std::size_t first, std::size_t last) noexcept {
        if (first == last) return;
        if (last - first == size_) return clear();
        erase_below(root_, height_, first, last);
        size_ -= last - first;
        first_ = this->first_leaf(root_, height_);
        last_ = this->last_leaf(root_, height_);
        if (first < size_) this->renew_bound(nth(first).at);
        this->repair(first);
    }
    void clear() noexcept {
        if (root_ != nullptr) this->free_below(root_, height_);
        forget();
    }

    // Effects: moves elements [index, size()) to `right`, which is empty and has an equal allocator.
    void split(std::size_t index, counted_tree& right) {
        if (index == size_) return;
        if (index == 0) return right.take(*this);
        spare_nodes spare(*this);
        spare.add_leaf();
        for (std::size_t level = 0; level < height_; ++level) spare.add_inner();
        node* const cut = cut_at(root_, height_, index, spare);
        right.root_ = cut;
        right.height_ = height_;
        right.size_ = size_ - index;
        right.first_ = this->first_leaf(cut, height_);
        right.last_ = last_;
        size_ = index;
        last_ = right.first_->previous;
        last_->next = nullptr;
        right.first_->previous = nullptr;
        cut->parent = nullptr;
        this->repair(size_);
        right.repair(0);
    }

    // Effects: appends the elements of `other`, which has an equal allocator.
    void append(counted_tree& other) {
        if (other.size_ == 0) return;
        if (size_ == 0) return take(other);
        this->repair(size_);
        other.repair(0);
        spare_nodes spare(*this);
        const std::size_t before = size_;
        if (height_ >= other.height_) {
            node* left = root_;
            for (std::size_t level = height_; level > other.height_; --level)
                left = static_cast<inner*>(left)->children[left->n - 1];
            spare.add_inners_for(left->parent);
            size_ += other.size_;
            this->add_above(left, other.size_);
            const std::size_t i = left->parent == nullptr ? 0 : left->parent->n - 1;
            this->add_behind(left, i, other.root_, other.size_, separator::make(other.first_), spare, false);
        } else {
            node* right = other.root_;
            for (std::size_t level = other.height_; level > height_; --level)
                right = static_cast<inner*>(right)->children[0];
            spare.add_inners_for(right->parent);
            const std::size_t right_size = right->parent->counts[0];
            size_ += other.size_;
            root_->parent = right->parent;
            right->parent->children[0] = root_;
            this->add_above(root_, before);
            height_ = other.height_;
            node* const left = std::exchange(root_, other.root_);
            this->add_behind(left, 0, right, right_size, separator::make(other.first_), spare, false);
        }
        last_->next = other.first_;
        other.first_->previous = last_;
        last_ = other.last_;
        other.forget();
        this->repair(before);
    }

    // Effects: takes over the elements of a tree with an equal allocator. Precondition: this one is empty.
    void take(counted_tree& other) noexcept {
        root_ = other.root_;
        height_ = other.height_;
        size_ = other.size_;
        first_ = other.first_;
        last_ = other.last_;
        other.forget();
    }
    // Effects: exchanges the elements, not the allocators.
    void swap_elements(counted_tree& other) noexcept {
        std::swap(root_, other.root_);
        std::swap(height_, other.height_);
        std::swap(size_, other.size_);
        std::swap(first_, other.first_);
        std::swap(last_, other.last_);
    }
    void swap_allocators(counted_tree& other) noexcept {
        using std::swap;
        swap(leaf_alloc_, other.leaf_alloc_);
        swap(inner_alloc_, other.inner_alloc_);
    }

  private:
    // A neighbour with no more elements than this takes some of a full leaf: then both have room.
    static constexpr std::size_t most_shared = std::min(leaf_slots * 3 / 4, leaf_slots - 2);

    // The elements that append_all has made in the last leaf, or in one that becomes it.
    struct leaf_filler {
        leaf_filler(counted_tree& of, spare_nodes& from, leaf* into) noexcept
            : tree(of), spare(from), to(into), n(into->n) {}
        leaf_filler(const leaf_filler&) = delete;
        leaf_filler& operator=(const leaf_filler&) = delete;
        ~leaf_filler() { tree.add_filled(to, n, spare); }

        counted_tree& tree;
        spare_nodes& spare;
        leaf* to;
        std::size_t n;
    };

    template <class Held>
    position put_first(Held& held) {
        leaf* const only = this->new_leaf();
        held.pass_on(only->slots[0]);
        only->n = 1;
        size_ = 1;
        root_ = first_ = last_ = only;
        return {only, 0};
    }

    // Effects: puts the element into a leaf with room; the counts above include it already.
    template <class Held>
    position put(const position& to, Held& held) noexcept {
        nodes::move_slots(leaf_alloc_, to.at, to.slot, to.at->n - to.slot, to.at, to.slot + 1);
        held.pass_on(to.at->slots[to.slot]);
        ++to.at->n;
        ++size_;
        if (to.slot == 0) this->renew_bound(to.at);
        return to;
    }

    template <class Held>
    [[gnu::noinline]] position put_in_full(const position& to, Held& held) {
        if (position other = to; share_with_neighbour(other)) {
            this->add_above(other.at, 1);
            return put(other, held);
        }
        spare_nodes spare(*this);
        spare.add_leaf();
        spare.add_inners_for(to.at->parent);
        leaf* const left = to.at;
        leaf* const right = spare.take_leaf();
        const bool is_at_end = left->next == nullptr && to.slot == leaf_slots;
        const std::size_t cut = cut_of(to);
        this->add_above(left, 1);
        nodes::link_behind(left, right);
        if (last_ == left) last_ = right;
        nodes::move_slots(leaf_alloc_, left, cut, leaf_slots - cut, right, 0);
        left->n = static_cast<std::uint32_t>(cut);
        right->n = static_cast<std::uint32_t>(leaf_slots - cut);
        const bool is_left = to.slot < cut || cut == 0;
        const position made = put(is_left ? to : position{right, to.slot - cut}, held);
        this->add_behind(left, left->parent == nullptr ? 0 : left->parent->index_of(left), right, right->n,
                         separator::make(right), spare, is_at_end);
        return made;
    }
    // Effects: moves elements of a full leaf to a neighbour in the same parent that has much room; `to` follows.
    // Returns: false, and nothing has changed, if neither neighbour has.
    [[nodiscard]] bool share_with_neighbour(position& to) noexcept {
        inner* const parent = to.at->parent;
        if (parent == nullptr || to.slot == 0 || to.slot == leaf_slots) return false;
        const std::size_t i = parent->index_of(to.at);
        if (i + 1 < parent->n && parent->counts[i + 1] <= most_shared) {
            this->fill_up(parent, i, 0);
            if (to.slot > to.at->n) to = {to.at->next, to.slot - to.at->n};
            return true;
        }
        if (i == 0 || parent->counts[i - 1] > most_shared) return false;
        const std::size_t moved = (leaf_slots + parent->counts[i - 1]) / 2 - parent->counts[i - 1];
        this->fill_up(parent, i - 1, 0);
        if (to.slot < moved) {
            to = {to.at->previous, to.at->previous->n - moved + to.slot};
        } else {
            to.slot -= moved;
        }
        return true;
    }

    // Returns: the place to cut a full leaf for an insertion at a slot. If many insertions follow one another, the
    // other part stays full.
    [[nodiscard]] static std::size_t cut_of(const position& to) noexcept {
        if (to.slot == leaf_slots) return to.at->next == nullptr ? leaf_slots : leaf_slots - leaf_slots / 4;
        if (to.slot == 0) return to.at->previous == nullptr ? 0 : leaf_slots / 4;
        return leaf_slots / 2;
    }

    void add_filled(leaf* to, std::size_t n, spare_nodes& spare) noexcept {
        const std::size_t added = n - to->n;
        if (added == 0) return to == last_ ? void() : this->free_leaf(to);
        to->n = static_cast<std::uint32_t>(n);
        size_ += added;
        if (to == last_) return this->add_above(to, added);
        if (last_ == nullptr) {
            root_ = first_ = last_ = to;
            return;
        }
        leaf* const before = std::exchange(last_, to);
        nodes::link_behind(before, to);
        this->add_above(before, added);
        this->add_behind(before, before->parent == nullptr ? 0 : before->parent->n - 1, to, added, separator::make(to),
                         spare, true);
    }

    void remove_slots(leaf* from, std::size_t first, std::size_t last) noexcept {
        this->destroy_slots(from, first, last);
        nodes::move_slots(leaf_alloc_, from, last, from->n - last, from, first);
        from->n -= static_cast<std::uint32_t>(last - first);
    }

    // Returns: true if the leaf must go when an element of it goes, and has no neighbour in its parent.
    [[nodiscard]] bool is_last_of_leaf(const leaf* at) const noexcept {
        return at->n == 1 && (at->parent == nullptr || at->parent->n == 1);
    }
    [[gnu::noinline]] position erase_with_leaf(const position& gone) noexcept {
        const std::size_t index = index_of(gone);
        erase(index, index + 1);
        return nth(index);
    }

    // Effects: destroys an element, which the counts above do not include any more.
    position remove(position gone) noexcept {
        remove_slots(gone.at, gone.slot, gone.slot + 1);
        --size_;
        if (gone.at->n < base::min_slots && height_ != 0) [[unlikely]]
            return mend(gone);
        return normal(gone);
    }

    // Effects: a sparse leaf takes elements of a neighbour, or the two become one. Returns: the new position of `of`.
    [[gnu::noinline]] position mend(position of) noexcept {
        inner* const parent = of.at->parent;
        if (parent->n > 1) {
            const std::size_t i = parent->index_of(of.at);
            leaf* const left = i == 0 ? of.at : of.at->previous;
            const std::size_t slot = i == 0 ? of.slot : of.slot + left->n;
            this->fill_up(parent, i == 0 ? 0 : i - 1, 0);
            of = slot < left->n || left->next == nullptr ? position{left, slot} : position{left->next, slot - left->n};
        }
        if (this->is_sparse(parent, 1)) {
            const std::size_t index = index_of(of);
            this->repair(index);
            return nth(index);
        }
        return normal(of);
    }

    // Effects: destroys elements [first, last) of those below `top`, which keeps at least one other.
    void erase_below(node* top, std::size_t level, std::size_t first, std::size_t last) noexcept {
        if (level == 0) return remove_slots(static_cast<leaf*>(top), first, last);
        inner* const parent = static_cast<inner*>(top);
        std::size_t gone_first = parent->n;
        std::size_t gone_last = 0;
        std::size_t before = 0;
        for (std::size_t i = 0; i < parent->n && before < last; ++i) {
            const std::size_t n = parent->counts[i];
            const std::size_t from = first > before ? std::min(first - before, n) : 0;
            const std::size_t to = std::min(last - before, n);
            before += n;
            if (to - from == n) {
                this->free_below(parent->children[i], level - 1);
                gone_first = std::min(gone_first, i);
                gone_last = i + 1;
            } else if (from < to) {
                erase_below(parent->children[i], level - 1, from, to);
                parent->counts[i] = n - (to - from);
            }
        }
        if (gone_last != 0) nodes::remove_entries(parent, gone_first, gone_last);
    }

    // Returns: a new node to the right of `top` with the elements from `index` on; neither of the two is empty.
    node* cut_at(node* top, std::size_t level, std::size_t index, spare_nodes& spare) noexcept {
        if (level == 0) {
            leaf* const left = static_cast<leaf*>(top);
            leaf* const right = spare.take_leaf();
            nodes::link_behind(left, right);
            if (last_ == left) last_ = right;
            nodes::move_slots(leaf_alloc_, left, index, left->n - index, right, 0);
            right->n = static_cast<std::uint32_t>(left->n - index);
            left->n = static_cast<std::uint32_t>(index);
            return right;
        }
        inner* const left = static_cast<inner*>(top);
        inner* const right = spare.take_inner();
        const std::size_t i = left->child_with(index);
        right->n = static_cast<std::uint32_t>(left->n - i);
        const bool is_between = index == 0;
        nodes::copy_entries(left, is_between ? i : i + 1, left->n, right, is_between ? 0 : 1);
        if (!is_between) {
            right->children[0] = cut_at(left->children[i], level - 1, index, spare);
            right->children[0]->parent = right;
            right->counts[0] = left->counts[i] - index;
            left->counts[i] = index;
        }
        left->n = static_cast<std::uint32_t>(is_between ? i : i + 1);
        return right;
    }

    void forget() noexcept {
        root_ = nullptr;
        first_ = last_ = nullptr;
        height_ = size_ = 0;
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
