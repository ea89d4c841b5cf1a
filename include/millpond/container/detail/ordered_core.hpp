// SPDX-License-Identifier: BSL-1.0
// ordered_core: the core of ordered_set and its variants: a counted B+-tree as an associative container.
//
//   associative ──position, place──▶ ordered_core ──▶ counted_tree      held: │ slot │ allocator │, an element apart
//
// Part of the associative containers; associative.hpp defines a core, counted_tree.hpp the tree. Every change
// invalidates all positions except the one that it returns.
//
// As counted_tree. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "counted_tree.hpp"
#include "element_shape.hpp"
#include "element_transfer.hpp"
#include "ordered_iterator.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Element, class Allocator, class Shape = tree_shape<typename Element::value_type, Element>>
class ordered_core {
    using value = typename Element::value_type;
    using tree = counted_tree<value, Allocator, Element, Shape>;
    using traits = std::allocator_traits<Allocator>;

    // An element of another tree, which stays there if it cannot be inserted.
    struct lent {
        Allocator allocator;
        leaf_slot<value>& slot;
        void pass_on(leaf_slot<value>& to) noexcept { slot.give(allocator, to); }
    };

  public:
    using element = Element;
    using allocator_type = Allocator;
    using position = typename tree::position;
    using place = typename tree::place;
    using hint_place = position;
    using iterator = ordered_iterator<tree, value, !Element::is_map>;
    using const_iterator = ordered_iterator<tree, value, true>;

    // An element in no tree, with its allocator, as node handles hold it.
    class held {
      public:
        held() = default;
        template <class... Arguments>
        explicit held(const Allocator& allocator, Arguments&&... arguments) : allocator_(allocator) {
            slot_.create(*allocator_, std::forward<Arguments>(arguments)...);
            is_there_ = true;
        }
        held(held&& other) noexcept { take(other); }
        held& operator=(held&& other) noexcept {
            if (this == &other) return *this;
            reset();
            take(other);
            return *this;
        }
        ~held() { reset(); }

        [[nodiscard]] explicit operator bool() const noexcept { return is_there_; }
        [[nodiscard]] value& get() const noexcept { return const_cast<leaf_slot<value>&>(slot_).value(); }
        [[nodiscard]] allocator_type get_allocator() const { return *allocator_; }
        // Effects: puts the element into a leaf.
        void pass_on(leaf_slot<value>& to) noexcept {
            leaf_slot<value>::relocate(*allocator_, &to, &slot_, 1);
            is_there_ = false;
        }

      private:
        friend ordered_core;
        void take(held& other) noexcept {
            if (!other.is_there_) return;
            allocator_.emplace(*other.allocator_);
            other.pass_on(slot_);
            other.allocator_.reset();
            is_there_ = true;
        }
        void reset() noexcept {
            if (is_there_) slot_.destroy(*allocator_);
            is_there_ = false;
            allocator_.reset();
        }

        std::optional<Allocator> allocator_;
        bool is_there_ = false;
        leaf_slot<value> slot_;
    };
    using made = held;

    explicit ordered_core(const Allocator& allocator) : tree_(allocator) {}
    ordered_core(ordered_core&& other) noexcept : tree_(std::move(other.tree_)) { other.changes_.change(); }
    ~ordered_core() = default;

    [[nodiscard]] std::size_t size() const noexcept { return tree_.size(); }
    [[nodiscard]] std::size_t max_size() const noexcept { return tree_.max_size(); }
    [[nodiscard]] allocator_type get_allocator() const noexcept { return tree_.get_allocator(); }

    // Precondition: this is empty, or takes the elements of `other` next.
    void set_allocator(const ordered_core& other) noexcept { tree_.set_allocator(other.tree_); }
    void swap_allocators(ordered_core& other) noexcept { tree_.swap_allocators(other.tree_); }

    [[nodiscard]] position begin() const noexcept { return tree_.begin(); }
    [[nodiscard]] position end() const noexcept { return tree_.end(); }
    [[nodiscard]] static position next(position at) noexcept { return tree::step(at), at; }
    [[nodiscard]] static position previous(position at) noexcept { return tree::step_back(at), at; }
    [[nodiscard]] static value& at(const position& where) noexcept { return where.value(); }
    [[nodiscard]] static const auto& key(const position& where) noexcept { return Element::key(where.value()); }
    [[nodiscard]] iterator iterator_at(const position& where) const noexcept { return iterator(where, changes_.now()); }
    [[nodiscard]] static position position_of(const const_iterator& where) noexcept { return where.position(); }
    [[nodiscard]] bool owns(const const_iterator& where) const noexcept { return changes_.owns(where.moment()); }
    [[nodiscard]] bool is_stale(const const_iterator& where) const noexcept {
        return owns(where) && where.moment().is_past();
    }

    [[nodiscard]] position nth(std::size_t index) const noexcept { return tree_.nth(index); }
    [[nodiscard]] static std::size_t index_of(const position& where) noexcept { return tree::index_of(where); }
    [[nodiscard]] static hint_place place_before(const position& where) noexcept { return where; }
    [[nodiscard]] static position position_at(const place& where) noexcept { return where.found(); }
    [[nodiscard]] static position position_at(const hint_place& where) noexcept { return where; }
    [[nodiscard]] static hint_place as_hint(const place& where) noexcept { return where.found(); }

    template <class Key, class Compare>
    [[nodiscard]] position find(const Key& key, const Compare& compare) const {
        const position found = lower(key, compare);
        return found != end() && !compare(key, ordered_core::key(found)) ? found : end();
    }
    template <class Key, class Compare>
    [[nodiscard]] position lower(const Key& key, const Compare& compare) const {
        return tree_.lower_bound(key, compare);
    }
    template <class Key, class Compare>
    [[nodiscard]] position upper(const Key& key, const Compare& compare) const {
        return tree_.upper_bound(key, compare);
    }
    template <class Key, class Compare>
    [[nodiscard]] hint_place first_place(const Key& key, const Compare& compare) const {
        return tree_.lower_bound(key, compare);
    }
    template <class Key, class Compare>
    [[nodiscard]] place last_place(const Key& key, const Compare& compare) const {
        return tree_.place_behind(key, compare);
    }
    template <class Key, class Compare>
    [[nodiscard]] search_result<place> unique_place(const Key& key, const Compare& compare) const {
        search_result<place> found{tree_.place_of(key, compare), false};
        found.is_new = !found.to.is_found;
        return found;
    }
    template <class Key, class Compare>
    [[nodiscard]] std::size_t lower_index(const Key& key, const Compare& compare) const {
        return tree_.lower_index(key, compare);
    }
    template <class Key, class Compare>
    [[nodiscard]] std::size_t upper_index(const Key& key, const Compare& compare) const {
        return tree_.upper_index(key, compare);
    }

    // For tests: checks the tree.
    template <class Compare>
    [[nodiscard]] bool is_sound(const Compare& compare) const {
        return tree_.is_sound(compare);
    }

    template <class... Arguments>
    [[nodiscard]] made make(Arguments&&... arguments) {
        return made(get_allocator(), std::forward<Arguments>(arguments)...);
    }
    [[nodiscard]] static value& made_value(const made& which) noexcept { return which.get(); }
    template <class Place>
    position insert_made(const Place& where, made&& which) {
        changes_.change();
        return tree_.insert(where, which);
    }
    template <class Place, class... Arguments>
    position insert(const Place& where, Arguments&&... arguments) {
        changes_.change();
        return tree_.emplace(where, std::forward<Arguments>(arguments)...);
    }

    [[nodiscard]] held extract(const position& where) {
        held taken;
        taken.allocator_.emplace(get_allocator());
        where.at->slots[where.slot].give(*taken.allocator_, taken.slot_);
        taken.is_there_ = true;
        erase(where);
        return taken;
    }
    template <class Place>
    position insert_held(const Place& where, held&& which) {
        const position inserted =
            is_at_home(*which.allocator_) ? insert_made(where, std::move(which)) : insert_foreign(where, which.get());
        which.reset();
        return inserted;
    }

    // Effects: moves an element of another tree here. Returns: the position behind it in the other tree.
    position transfer(const place& where, ordered_core& from, const position& which) {
        if (is_at_home(from.get_allocator())) {
            lent moving{get_allocator(), which.at->slots[which.slot]};
            changes_.change();
            tree_.insert(where, moving);
        } else {
            insert_foreign(where, which.value());
        }
        return from.erase(which);
    }
    [[nodiscard]] bool is_compatible(const ordered_core& other) const noexcept {
        return traits::is_always_equal::value || get_allocator() == other.get_allocator();
    }

    // Returns: the position behind the erased element.
    position erase(const position& where) noexcept {
        changes_.change();
        return tree_.erase(where);
    }
    void erase_at(const place& where) noexcept {
        changes_.change();
        tree_.erase(where);
    }
    position erase(const position& first, const position& last) noexcept {
        if (first == last) return last;
        const std::size_t index = index_of(first);
        changes_.change();
        tree_.erase(index, index_of(last));
        return tree_.nth(index);
    }
    void clear() noexcept {
        changes_.change();
        tree_.clear();
    }

    // Effects: adds elements, in order, as long as make(create) returns true after calling create with an element's
    // arguments; create returns the element. After an exception the elements made before it stay; with an `undo` they
    // are destroyed after undo(element). Precondition: empty.
    template <class Make, class Undo = nothing_to_undo>
    void fill(Make make, Undo undo = {}) {
        changes_.change();
        struct undone {
            tree& filled;
            Undo& undo;
            bool is_kept = std::is_same_v<Undo, nothing_to_undo>;
            ~undone() {
                if (is_kept) return;
                for (position each = filled.begin(); each != filled.end(); tree::step(each)) undo(each.value());
                filled.clear();
            }
        } unless_kept{tree_, undo};
        tree_.append_all([&](auto& allocator, auto& slot) {
            return make([&]<class... Arguments>(Arguments&&... arguments) -> value& {
                slot.create(allocator, std::forward<Arguments>(arguments)...);
                return slot.value();
            });
        });
        unless_kept.is_kept = true;
    }
    // Effects: exchanges the elements; the allocators stay.
    void swap_elements(ordered_core& other) noexcept {
        changes_.change();
        other.changes_.change();
        tree_.swap_elements(other.tree_);
    }
    void take_elements(ordered_core& other) noexcept {
        clear();
        other.changes_.change();
        tree_.take(other.tree_);
    }

  private:
    // A value moved out of its place, which returns there unless it was kept.
    struct loan {
        Allocator allocator;
        value& home;
        held& away;
        bool is_kept = false;
        ~loan() {
            if (is_kept) return;
            if constexpr (relocation<value>::is_safe) {
                traits::destroy(allocator, std::addressof(home));
                Element::moved(away.get(), [&]<class... Parts>(Parts&&... parts) {
                    traits::construct(allocator, std::addressof(home), std::forward<Parts>(parts)...);
                });
            } else if constexpr (!std::is_copy_constructible_v<value>) {
                assign_back();
            }
        }
        // Effects: tries to move a value back if its move may throw and it was not copied.
        void assign_back() noexcept {
#if defined(__cpp_exceptions)
            try {
                if constexpr (requires { home = std::move(away.get()); }) {
                    home = std::move(away.get());
                } else if constexpr (requires { home.second = std::move(away.get().second); }) {
                    const_cast<std::remove_const_t<decltype(home.first)>&>(home.first) =
                        std::move(const_cast<std::remove_const_t<decltype(home.first)>&>(away.get().first));
                    home.second = std::move(away.get().second);
                }
            } catch (...) {
                return;  // it is lost: every way back might fail
            }
#endif
        }
    };

    // Returns: true if an element from another allocator's tree may be here: it has no memory of its own, or memory of
    // an equal allocator.
    [[nodiscard]] bool is_at_home(const Allocator& other) const noexcept {
        return is_kept_in_leaf<value> || traits::is_always_equal::value || get_allocator() == other;
    }
    template <class Place>
    position insert_foreign(const Place& where, value& from) {
        held own =
            Element::moved(from, [&]<class... Parts>(Parts&&... parts) { return make(std::forward<Parts>(parts)...); });
        loan returned{get_allocator(), from, own};
        const position inserted = insert_made(where, std::move(own));
        returned.is_kept = true;
        return inserted;
    }

    tree tree_;
    [[no_unique_address]] tree_changes changes_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
