// SPDX-License-Identifier: BSL-1.0
// weight_tree: a tree of nodes that never move and know their ranks; the core of counted_set and its variants.
//
//   node: │ child[2] │ parent │ size │ value │     40 bytes for a uint64_t
//         └───────── weight_links ───┘
//
// Part of the associative containers; associative.hpp defines a core. A position is a node, valid until the node is
// erased, whichever tree it is in. A node is allocated and its value made before the tree changes, so an insertion that
// throws has changed nothing.
//
// Searches: O(log n), with as many comparisons as the height. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/detail/upstream_memory.hpp"
#include "element_shape.hpp"
#include "element_transfer.hpp"
#include "weight_node.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Element, class Allocator>
class weight_tree {
    using value = typename Element::value_type;
    using node = weight_node<value>;
    using node_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<node>;
    using traits = std::allocator_traits<node_allocator>;

    // Destroys a node that does not get into a tree.
    struct destroyer {
        node_allocator* allocator;
        void operator()(node* which) const noexcept { destroy(*allocator, which); }
    };

  public:
    using element = Element;
    using allocator_type = Allocator;
    using position = weight_links*;
    using place = weight_place;
    using hint_place = weight_place;
    // If elements must not change, both iterators are one type.
    using iterator = weight_iterator<value, !Element::is_map>;
    using const_iterator = weight_iterator<value, true>;

    // A node in no tree yet, which is destroyed with its owner.
    using made = std::unique_ptr<node, destroyer>;

    // A node in no tree, with its allocator, as node handles hold it.
    class held {
      public:
        held() = default;
        held(node* which, const node_allocator& allocator) : node_(which), allocator_(allocator) {}
        held(held&& other) noexcept
            : node_(std::exchange(other.node_, nullptr)), allocator_(std::move(other.allocator_)) {
            other.allocator_.reset();
        }
        held& operator=(held&& other) noexcept {
            if (this == &other) return *this;
            reset();
            node_ = std::exchange(other.node_, nullptr);
            allocator_.reset();
            if (other.allocator_) allocator_.emplace(std::move(*other.allocator_));
            other.allocator_.reset();
            return *this;
        }
        ~held() { reset(); }

        [[nodiscard]] explicit operator bool() const noexcept { return node_ != nullptr; }
        [[nodiscard]] value& get() const noexcept { return node_->value; }
        [[nodiscard]] allocator_type get_allocator() const { return allocator_type(*allocator_); }

      private:
        friend weight_tree;
        void reset() noexcept {
            if (node_ != nullptr) destroy(*allocator_, std::exchange(node_, nullptr));
            allocator_.reset();
        }

        node* node_ = nullptr;
        std::optional<node_allocator> allocator_;
    };

    explicit weight_tree(const Allocator& allocator) : allocator_(allocator) {}
    weight_tree(weight_tree&& other) noexcept : allocator_(std::move(other.allocator_)) { head_.take(other.head_); }
    ~weight_tree() { clear(); }

    [[nodiscard]] std::size_t size() const noexcept { return head_.size(); }
    [[nodiscard]] std::size_t max_size() const noexcept { return traits::max_size(allocator_); }
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(allocator_); }
    // Precondition: this is empty, or takes the elements of `other` next.
    void set_allocator(const weight_tree& other) noexcept { allocator_ = other.allocator_; }
    void swap_allocators(weight_tree& other) noexcept {
        using std::swap;
        swap(allocator_, other.allocator_);
    }

    [[nodiscard]] position begin() const noexcept { return head_.begin(); }
    [[nodiscard]] position end() const noexcept { return head_.end(); }
    [[nodiscard]] position next(position at) const noexcept { return at->next(); }
    [[nodiscard]] position previous(position at) const noexcept { return at->previous(); }
    [[nodiscard]] value& at(position where) const noexcept { return static_cast<node*>(where)->value; }
    [[nodiscard]] const auto& key(position where) const noexcept { return Element::key(at(where)); }
    [[nodiscard]] iterator iterator_at(position where) const noexcept { return iterator(where); }
    [[nodiscard]] position position_of(const_iterator where) const noexcept { return where.position(); }
    [[nodiscard]] bool owns(const_iterator where) const noexcept { return head_.owns(where.position()); }

    [[nodiscard]] position nth(std::size_t index) const noexcept { return head_.nth(index); }
    [[nodiscard]] std::size_t index_of(position where) const noexcept { return head_.index_of(where); }
    [[nodiscard]] hint_place place_before(position where) const noexcept { return head_.place_before(where); }

    [[nodiscard]] static position position_at(const place& where) noexcept { return where.at; }
    [[nodiscard]] static hint_place as_hint(const place& where) noexcept { return where; }

    // Returns: the element with the key, or the end.
    template <class Key, class Compare>
    [[nodiscard]] position find(const Key& key, const Compare& compare) const {
        const position found = lower(key, compare);
        return found != end() && !compare(key, this->key(found)) ? found : end();
    }
    // Returns: the first element that does not come before the key, or the first that comes behind it.
    template <class Key, class Compare>
    [[nodiscard]] position lower(const Key& key, const Compare& compare) const {
        return first_place(key, compare).at;
    }
    template <class Key, class Compare>
    [[nodiscard]] position upper(const Key& key, const Compare& compare) const {
        return last_place(key, compare).at;
    }
    // Returns: the place for an element with the key: in front of its equals, behind them, or the place of its only
    // equal.
    template <class Key, class Compare>
    [[nodiscard]] place first_place(const Key& key, const Compare& compare) const {
        return descend([&](const auto& found) { return static_cast<bool>(compare(found, key)); });
    }
    template <class Key, class Compare>
    [[nodiscard]] place last_place(const Key& key, const Compare& compare) const {
        return descend([&](const auto& found) { return !compare(key, found); });
    }
    template <class Key, class Compare>
    [[nodiscard]] search_result<place> unique_place(const Key& key, const Compare& compare) const {
        const place found = first_place(key, compare);
        return {found, found.at == end() || compare(key, this->key(found.at))};
    }
    // Returns: index_of(lower(key, compare)) or of upper, at a lower cost.
    template <class Key, class Compare>
    [[nodiscard]] std::size_t lower_index(const Key& key, const Compare& compare) const {
        return count_down([&](const auto& found) { return static_cast<bool>(compare(found, key)); });
    }
    template <class Key, class Compare>
    [[nodiscard]] std::size_t upper_index(const Key& key, const Compare& compare) const {
        return count_down([&](const auto& found) { return !compare(key, found); });
    }

    // For tests: checks the tree.
    template <class Compare>
    [[nodiscard]] bool is_sound(const Compare&) const noexcept {
        return head_.is_sound();
    }

    // Effects: makes a node that is in no tree.
    template <class... Arguments>
    [[nodiscard]] made make(Arguments&&... arguments) {
        return made(create(std::forward<Arguments>(arguments)...), destroyer{&allocator_});
    }
    [[nodiscard]] static value& made_value(const made& which) noexcept { return which->value; }
    position insert_made(place where, made which) noexcept { return link(where, which.release()); }

    template <class... Arguments>
    position insert(place where, Arguments&&... arguments) {
        return link(where, create(std::forward<Arguments>(arguments)...));
    }

    [[nodiscard]] held extract(position where) {
        held taken(static_cast<node*>(where), allocator_);
        head_.unlink(where);
        return taken;
    }
    position insert_held(place where, held&& which) {
        if (!traits::is_always_equal::value && allocator_ != *which.allocator_) {
            const position inserted = insert_foreign(where, which.get());
            which.reset();
            return inserted;
        }
        which.allocator_.reset();
        return link(where, std::exchange(which.node_, nullptr));
    }

    // Effects: moves an element of another tree here: the node itself, if the allocators are equal. Returns: the
    // position behind it in the other tree.
    position transfer(place where, weight_tree& from, position which) {
        const position behind = which->next();
        if (is_compatible(from)) {
            from.head_.unlink(which);
            link(where, static_cast<node*>(which));
            return behind;
        }
        insert_foreign(where, from.at(which));
        return from.erase(which);
    }
    [[nodiscard]] bool is_compatible(const weight_tree& other) const noexcept {
        return traits::is_always_equal::value || allocator_ == other.allocator_;
    }

    // Returns: the position behind the erased element.
    position erase(position where) noexcept {
        const position behind = where->next();
        remove(where);
        return behind;
    }
    // The same without finding the element behind it.
    void erase_at(const place& where) noexcept { remove(where.at); }
    position erase(position first, position last) noexcept {
        if (first == begin() && last == end()) {
            clear();
            return end();
        }
        while (first != last) first = erase(first);
        return last;
    }
    void clear() noexcept {
        destroy_below(head_.root());
        head_.clear();
    }

    // Effects: adds elements, in order, as long as make(create) returns true after calling create with an element's
    // arguments; create returns the element. All or none: on failure it calls undo(element) for each that was made.
    // Precondition: empty.
    template <class Make, class Undo = nothing_to_undo>
    void fill(Make make, Undo undo = {}) {
        row_owner nodes(*this);
        struct undone {
            weight_row& row;
            Undo& undo;
            ~undone() {
                for (weight_links* each = row.first; each != nullptr; each = each->child[weight_links::right])
                    undo(static_cast<node*>(each)->value);
            }
        } const unless_built{nodes.row, undo};
        const auto create_next = [&]<class... Arguments>(Arguments&&... arguments) -> value& {
            node* const added = create(std::forward<Arguments>(arguments)...);
            nodes.row.append(added);
            return added->value;
        };
        while (make(create_next)) {
        }
        head_.build(std::exchange(nodes.row, weight_row()));
    }
    // Effects: exchanges the nodes; the allocators stay.
    void swap_elements(weight_tree& other) noexcept { head_.swap(other.head_); }
    void take_elements(weight_tree& other) noexcept {
        clear();
        head_.take(other.head_);
    }

  private:
    // Nodes that belong to no tree yet.
    struct row_owner {
        weight_tree& tree;
        weight_row row;

        explicit row_owner(weight_tree& owner) noexcept : tree(owner) {}
        row_owner(const row_owner&) = delete;
        row_owner& operator=(const row_owner&) = delete;
        ~row_owner() {
            while (row.first != nullptr) {
                weight_links* const behind = row.first->child[weight_links::right];
                destroy(tree.allocator_, static_cast<node*>(std::exchange(row.first, behind)));
            }
        }
    };

    template <class IsBefore>
    [[nodiscard]] place descend(IsBefore is_before) const {
        place found{head_.end(), head_.end(), weight_links::left};
        for (weight_links* at = head_.root(); at != nullptr;) {
            found.parent = at;
            if (is_before(key(at))) {
                found.side = weight_links::right;
                at = at->child[weight_links::right];
            } else {
                found.at = at;
                found.side = weight_links::left;
                at = at->child[weight_links::left];
            }
        }
        return found;
    }
    template <class IsBefore>
    [[nodiscard]] std::size_t count_down(IsBefore is_before) const {
        std::size_t index = 0;
        for (weight_links* at = head_.root(); at != nullptr;) {
            const bool goes_right = is_before(key(at));
            weight_links* const below = at->child[goes_right ? weight_links::right : weight_links::left];
            if (goes_right) index += at->size - weight_links::size_of(below);
            at = below;
        }
        return index;
    }

    void remove(position where) noexcept {
        head_.unlink(where);
        destroy(allocator_, static_cast<node*>(where));
    }
    // Effects: makes a node of its own for a value of another allocator.
    position insert_foreign(place where, value& from) {
        return Element::moved(
            from, [&]<class... Parts>(Parts&&... parts) { return insert(where, std::forward<Parts>(parts)...); });
    }
    position link(place where, node* which) noexcept {
        head_.link(where, which);
        return which;
    }

    template <class... Arguments>
    [[nodiscard]] node* create(Arguments&&... arguments) {
        struct node_memory {
            node_allocator& allocator;
            node* memory;
            bool is_kept = false;
            ~node_memory() {
                if (!is_kept) deallocate_at_address(allocator, memory, 1);
            }
        } slot{allocator_, allocate_at_address(allocator_, 1)};
        node* const fresh = ::new (static_cast<void*>(slot.memory)) node;
        traits::construct(allocator_, std::addressof(fresh->value), std::forward<Arguments>(arguments)...);
        slot.is_kept = true;
        return fresh;
    }
    static void destroy(node_allocator& allocator, node* which) noexcept {
        traits::destroy(allocator, std::addressof(which->value));
        deallocate_at_address(allocator, which, 1);
    }
    // Recurses as deep as the tree is high.
    void destroy_below(weight_links* root) noexcept {
        while (root != nullptr) {
            destroy_below(root->child[weight_links::right]);
            weight_links* const below = root->child[weight_links::left];
            destroy(allocator_, static_cast<node*>(root));
            root = below;
        }
    }

    [[no_unique_address]] node_allocator allocator_;
    weight_head head_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
