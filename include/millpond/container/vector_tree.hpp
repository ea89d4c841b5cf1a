// SPDX-License-Identifier: BSL-1.0
// vector_tree: a sequence with an index in which insertion and erasure anywhere cost O(log size()). Iterators stay
// valid, at their element, when others are inserted or erased; references and pointers do not, because elements move.
//
//                     │ 70 │ 52 │ 61 │             numbers of elements: element 75 is number 5 of the second leaf
//              ┌────────┘    │     └──────┐
//         │ a … │ ⇄ │ … │ ⇄ │ b … │ ⇄ │ … │       leaves of 4 KiB, linked: a traversal reads them in turn
//
// Use it where a std::vector or std::deque would shift: a sequence of more than about 4000 elements that changes in the
// middle, is cut in two or joined. Three cases are better served by others. Sequences that only grow at their ends:
// std::vector takes less memory and reads faster. References that must last: std::list, without an index. Very many
// small sequences: a leaf has 4 KiB, for non-trivial elements 1 KiB, and half a KiB in a pooled_vector_tree.
//
// nth, [], at, index_of, insert, erase of one element, split, append of a whole tree: O(log size()). push_back,
// push_front: O(log size()), a few additions. ++, --: O(1). Ranges: O(elements). clear: O(size()).
// An iterator follows its element: it becomes singular when the element is erased, and belongs to another tree after
// split, append or a move. The end stays the end of its container. For that, each leaf knows the iterators of its
// elements: making or copying one costs some nanoseconds, and an insertion updates the iterators into its leaf.
//
// Guarantee: strong, except assign_range and assign, which are basic, and erase_if: if its predicate throws, the
// elements chosen before are erased and all others are as before. Between unequal allocators, elements whose move may
// throw, or that take the allocator, are copied and then erased. Those that cannot be copied move one by one: if one
// fails, each is in one of the two trees, but those moved by a constructor are lost. Elements whose move may throw, or
// of more than 64 bytes, have memory of their own, with a pointer in the leaf. Empty leaves give their memory back.
// Allocator: any, also std::pmr's; pooled_vector_tree has a pool of ours inside (suballocator).
// In checked mode an iterator that is singular or of another tree ends the program. Not thread-safe; several threads
// may make constant calls at once, iterators included.
// After the vector_tree of F. J. Tapia's Counter Tree Library (2012).
//
// Example:
//     millpond::vector_tree<int> numbers{1, 2, 4, 5};
//     const auto five = numbers.nth(3);
//     numbers.insert(numbers.nth(2), 3);
//     assert(*five == 5 && numbers.index_of(five) == 4 && numbers[2] == 3);
//     millpond::vector_tree<int> rest = numbers.split(3);
//     assert(numbers.size() == 3 && rest.front() == 4 && rest.index_of(five) == 1);
//     rest.append(std::move(numbers));
//     assert(rest.size() == 5 && rest.back() == 3);
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "../bind/suballocator.hpp"
#include "../core/abi.hpp"
#include "detail/counted_tree.hpp"
#include "detail/element_order.hpp"
#include "detail/element_transfer.hpp"
#include "detail/refused.hpp"
#include "detail/tree_follower.hpp"
#include "detail/vector_tree_iterator.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// A traversal waits for memory once a leaf, so leaves are large; smaller if each move of an element is a call.
template <class T>
inline constexpr std::size_t vector_tree_leaf_bytes = std::is_trivially_copyable_v<T> ? 4088 : 1016;
template <class T>
using vector_tree_shape = tree_shape<T, no_order, follower_tracker, vector_tree_leaf_bytes<T>>;

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

// `Shape`: the numbers of entries in nodes, as detail::tree_shape.
template <class T, class Allocator = std::allocator<T>, class Shape = detail::vector_tree_shape<T>>
class vector_tree {
    static_assert(std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>>,
                  "T must be an object type without const");
    static_assert(std::same_as<typename std::allocator_traits<Allocator>::value_type, T>,
                  "the allocator's value_type must be T");

    using core = detail::counted_tree<T, Allocator, detail::no_order, Shape, detail::follower_tracker>;
    using position = typename core::position;
    using traits = std::allocator_traits<Allocator>;

  public:
    using value_type = T;
    using allocator_type = Allocator;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using pointer = T*;
    using const_pointer = const T*;
    using iterator = detail::vector_tree_iterator<core, false>;
    using const_iterator = detail::vector_tree_iterator<core, true>;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    // Effects: makes an empty sequence and allocates nothing.
    vector_tree() noexcept(noexcept(Allocator()))
        requires std::default_initializable<Allocator>
        : tree_(Allocator()) {}
    explicit vector_tree(const Allocator& allocator) noexcept : tree_(allocator) {}

    explicit vector_tree(size_type elements, const Allocator& allocator = Allocator()) : tree_(allocator) {
        resize(elements);
    }
    vector_tree(size_type elements, const T& value, const Allocator& allocator = Allocator()) : tree_(allocator) {
        resize(elements, value);
    }
    template <std::input_iterator First, std::sentinel_for<First> Last>
    vector_tree(First first, Last last, const Allocator& allocator = Allocator()) : tree_(allocator) {
        append_each(std::move(first), std::move(last));
    }
    vector_tree(std::initializer_list<T> values, const Allocator& allocator = Allocator())
        : vector_tree(values.begin(), values.end(), allocator) {}
#if defined(__cpp_lib_containers_ranges)
    template <std::ranges::input_range Range>
    vector_tree(std::from_range_t, Range&& range, const Allocator& allocator = Allocator()) : tree_(allocator) {
        append_range(std::forward<Range>(range));
    }
#endif

    vector_tree(const vector_tree& other)
        : vector_tree(other, traits::select_on_container_copy_construction(other.get_allocator())) {}
    vector_tree(const vector_tree& other, const std::type_identity_t<Allocator>& allocator) : tree_(allocator) {
        append_each(other.begin(), other.end());
    }
    // Effects: takes over the elements; iterators to them now belong to this container. `other` is empty.
    vector_tree(vector_tree&& other) noexcept : tree_(std::move(other.tree_)) { mark(); }
    vector_tree(vector_tree&& other, const std::type_identity_t<Allocator>& allocator) : tree_(allocator) {
        append(std::move(other));
    }

    vector_tree& operator=(const vector_tree& other) {
        if (this == &other) return *this;
        constexpr bool propagates = traits::propagate_on_container_copy_assignment::value;
        vector_tree copy(other, propagates ? other.get_allocator() : get_allocator());
        tree_.clear();
        if constexpr (propagates) tree_.set_allocator(copy.tree_);
        tree_.take(copy.tree_);
        mark();
        return *this;
    }
    // Effects: as the move constructor, if the allocator moves along or is equal; else moves each, as append does.
    vector_tree& operator=(vector_tree&& other) noexcept(traits::propagate_on_container_move_assignment::value ||
                                                         traits::is_always_equal::value) {
        if (this == &other) return *this;
        if constexpr (traits::propagate_on_container_move_assignment::value) {
            tree_.clear();
            tree_.set_allocator(other.tree_);
            tree_.take(other.tree_);
            mark();
        } else {
            if (!moves_all_or_none && get_allocator() != other.get_allocator()) {
                tree_.clear();
                append(std::move(other));
                return *this;
            }
            vector_tree moved(std::move(other), get_allocator());
            tree_.clear();
            tree_.take(moved.tree_);
            mark();
        }
        return *this;
    }
    vector_tree& operator=(std::initializer_list<T> values) {
        assign_range(values);
        return *this;
    }
    ~vector_tree() = default;

    // Effects: exchanges the elements; iterators follow theirs. The allocators must be equal or propagate.
    void swap(vector_tree& other) noexcept {
        if constexpr (traits::propagate_on_container_swap::value) tree_.swap_allocators(other.tree_);
        tree_.swap_elements(other.tree_);
        mark();
        other.mark();
    }
    friend void swap(vector_tree& a, vector_tree& b) noexcept { a.swap(b); }

    [[nodiscard]] Allocator get_allocator() const noexcept { return tree_.get_allocator(); }

    [[nodiscard]] iterator begin() noexcept { return {tree_.begin(), &tree_}; }
    [[nodiscard]] const_iterator begin() const noexcept { return {tree_.begin(), &tree_}; }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] iterator end() noexcept { return {position{}, &tree_}; }
    [[nodiscard]] const_iterator end() const noexcept { return {position{}, &tree_}; }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept { return rbegin(); }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator crend() const noexcept { return rend(); }

    [[nodiscard]] bool empty() const noexcept { return tree_.size() == 0; }
    [[nodiscard]] size_type size() const noexcept { return tree_.size(); }
    [[nodiscard]] size_type max_size() const noexcept { return tree_.max_size(); }

    [[nodiscard]] T& operator[](size_type index) noexcept { return expect_element(index), tree_.nth(index).value(); }
    [[nodiscard]] const T& operator[](size_type index) const noexcept {
        return expect_element(index), tree_.nth(index).value();
    }
    // Throws: std::out_of_range.
    [[nodiscard]] T& at(size_type index) { return expect_index(index), tree_.nth(index).value(); }
    [[nodiscard]] const T& at(size_type index) const { return expect_index(index), tree_.nth(index).value(); }
    [[nodiscard]] T& front() noexcept { return expect_element(0), tree_.begin().value(); }
    [[nodiscard]] const T& front() const noexcept { return expect_element(0), tree_.begin().value(); }
    [[nodiscard]] T& back() noexcept { return expect_element(0), last().value(); }
    [[nodiscard]] const T& back() const noexcept { return expect_element(0), last().value(); }

    // Returns: element number `index`; the end for size().
    [[nodiscard]] iterator nth(size_type index) noexcept { return {tree_.nth(index), &tree_}; }
    [[nodiscard]] const_iterator nth(size_type index) const noexcept { return {tree_.nth(index), &tree_}; }
    // Returns: the number of elements before this one; size() for the end.
    [[nodiscard]] size_type index_of(const const_iterator& element) const noexcept {
        return is_mine(element) ? core::index_of(element.position()) : size();
    }

    // Effects: calls visit(std::span of elements) for each contiguous part of the sequence, in order: the fastest
    // traversal. Only for elements that lie in the leaves.
    template <class Visit>
    void for_each_span(Visit visit) const
        requires detail::is_kept_in_leaf<T>
    {
        tree_.for_each_leaf([&](const T* first, size_type n) { visit(std::span<const T>(first, n)); });
    }
    template <class Visit>
    void for_each_span(Visit visit)
        requires detail::is_kept_in_leaf<T>
    {
        tree_.for_each_leaf([&](T* first, size_type n) { visit(std::span<T>(first, n)); });
    }

    // Effects: inserts in front of `before`. The arguments may be, or refer to, elements of this container.
    template <class... Arguments>
    iterator emplace(const const_iterator& before, Arguments&&... arguments) {
        if (!is_mine(before)) return end();
        return put(before.position(), std::forward<Arguments>(arguments)...);
    }
    iterator insert(const const_iterator& before, const T& value) { return emplace(before, value); }
    iterator insert(const const_iterator& before, T&& value) { return emplace(before, std::move(value)); }
    iterator insert(const const_iterator& before, size_type elements, const T& value) {
        const T copy(value);
        return insert_each(before, [&](position& next) {
            if (elements == 0) return false;
            next = tree_.emplace(next, copy);
            --elements;
            return true;
        });
    }
    template <std::input_iterator First, std::sentinel_for<First> Last>
    iterator insert(const const_iterator& before, First first, Last last) {
        return insert_each(before, [&](position& next) {
            if (first == last) return false;
            next = tree_.emplace(next, *first);
            ++first;
            return true;
        });
    }
    iterator insert(const const_iterator& before, std::initializer_list<T> values) {
        return insert_range(before, values);
    }
    // The range must not be of this container.
    template <std::ranges::input_range Range>
    iterator insert_range(const const_iterator& before, Range&& range) {
        return insert(before, std::ranges::begin(range), std::ranges::end(range));
    }

    template <class... Arguments>
    T& emplace_back(Arguments&&... arguments) {
        const position made = tree_.emplace(tree_.end(), std::forward<Arguments>(arguments)...);
        mark();
        return made.value();
    }
    template <class... Arguments>
    T& emplace_front(Arguments&&... arguments) {
        const position made = tree_.emplace(tree_.begin(), std::forward<Arguments>(arguments)...);
        mark();
        return made.value();
    }
    void push_back(const T& value) { emplace_back(value); }
    void push_back(T&& value) { emplace_back(std::move(value)); }
    void push_front(const T& value) { emplace_front(value); }
    void push_front(T&& value) { emplace_front(std::move(value)); }
    void pop_back() noexcept {
        expect_element(0);
        tree_.erase(last());
        mark();
    }
    void pop_front() noexcept {
        expect_element(0);
        tree_.erase(tree_.begin());
        mark();
    }

    // Effects: appends the elements of a range, which must not be of this container.
    template <std::ranges::input_range Range>
    void append_range(Range&& range) {
        append_each(std::ranges::begin(range), std::ranges::end(range));
    }
    template <std::ranges::input_range Range>
    void prepend_range(Range&& range) {
        insert_range(begin(), std::forward<Range>(range));
    }

    // Returns: the element behind the erased ones. Throws nothing.
    iterator erase(const const_iterator& element) noexcept {
        if (!is_mine(element) || element == cend()) return end();
        const position next = tree_.erase(element.position());
        mark();
        return {next, &tree_};
    }
    iterator erase(const const_iterator& first, const const_iterator& last) noexcept {
        if (!is_mine(first) || !is_mine(last)) return end();
        const size_type index = core::index_of(first.position());
        erase_at(index, core::index_of(last.position()));
        return nth(index);
    }
    // Effects: erases the elements with numbers [first, last).
    void erase_at(size_type first, size_type last) noexcept {
        tree_.erase(first, last);
        mark();
    }
    void clear() noexcept { tree_.clear(); }

    void resize(size_type elements) {
        if (elements <= size()) return erase_at(elements, size());
        append_made(elements - size(), [](auto& alloc, auto& slot) { slot.create(alloc); });
    }
    void resize(size_type elements, const T& value) {
        if (elements <= size()) return erase_at(elements, size());
        const T copy(value);
        append_made(elements - size(), [&copy](auto& alloc, auto& slot) { slot.create(alloc, copy); });
    }

    // The elements must not be of this container.
    template <std::ranges::input_range Range>
    void assign_range(Range&& range) {
        assign(std::ranges::begin(range), std::ranges::end(range));
    }
    template <std::input_iterator First, std::sentinel_for<First> Last>
    void assign(First first, Last last) {
        tree_.clear();
        append_each(std::move(first), std::move(last));
    }
    void assign(std::initializer_list<T> values) { assign_range(values); }
    void assign(size_type elements, const T& value) {
        const T copy(value);
        tree_.clear();
        resize(elements, copy);
    }

    // Effects: removes elements [index, size()). Returns: them. Iterators follow.
    [[nodiscard]] vector_tree split(size_type index) {
        if (index > size()) detail::no_such_element("vector_tree: split behind the end");
        vector_tree rest(get_allocator());
        tree_.split(index, rest.tree_);
        mark();
        rest.mark();
        return rest;
    }
    [[nodiscard]] vector_tree split(const const_iterator& first) { return split(index_of(first)); }

    // Effects: appends the elements of `other`, and iterators follow. O(log size()) if the allocators are equal; else
    // each is moved.
    void append(vector_tree&& other) {
        if (this == &other) return;
        if constexpr (!traits::is_always_equal::value) {
            if (get_allocator() != other.get_allocator()) return append_foreign(other);
        }
        // Reserves the marks before memory is requested, because the last leaf of each may change in any case.
        const mark_guard in_any_case(*this), there(other);
        tree_.append(other.tree_);
    }

    [[nodiscard]] friend bool operator==(const vector_tree& a, const vector_tree& b)
        requires std::equality_comparable<T>
    {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }
    [[nodiscard]] friend auto operator<=>(const vector_tree& a, const vector_tree& b)
        requires detail::is_ordered_somehow<T>
    {
        return detail::compare_in_order(a.begin(), a.end(), b.begin(), b.end());
    }

    // Effects: erases all elements for which `is_gone` is true. Returns: their number. Other iterators stay valid.
    // Throws: what `is_gone` throws; then the elements chosen before are erased.
    template <class Predicate>
    friend size_type erase_if(vector_tree& from, Predicate is_gone) {
        const mark_guard in_any_case(from);
        const size_type before = from.size();
        for (position at = from.tree_.begin(); at != from.tree_.end();)
            is_gone(std::as_const(at.value())) ? void(at = from.tree_.erase(at)) : core::step(at);
        return before - from.size();
    }
    template <class U = T>
    friend size_type erase(vector_tree& from, const U& value) {
        return erase_if(from, [&](const T& element) { return element == value; });
    }

    // Returns: true if the tree inside is sound. For tests; O(size()).
    [[nodiscard]] bool is_sound() const noexcept {
        return tree_.is_sound(0) && (empty() || tree_.end().at->tracked.owner == &tree_);
    }

  private:
    // True if elements are made here by their own move, which cannot fail, and can be moved back.
    static constexpr bool moves_back = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T> &&
                                       !detail::might_take_allocator<T, Allocator>;
    static constexpr bool moves_all_or_none = moves_back || detail::is_copyable<T>;

    // Ensures that the last leaf knows its owner, also after an exception.
    class mark_guard {
      public:
        explicit mark_guard(vector_tree& of) noexcept : tree_(of) {}
        mark_guard(const mark_guard&) = delete;
        mark_guard& operator=(const mark_guard&) = delete;
        ~mark_guard() { tree_.mark(); }

      private:
        vector_tree& tree_;
    };

    // Elements from another tree, from its first one on, which return unless they are kept.
    struct move_guard {
        vector_tree& home;
        vector_tree& here;
        size_type before;
        bool is_kept = false;

        move_guard(vector_tree& from, vector_tree& to) noexcept : home(from), here(to), before(to.size()) {}
        move_guard(const move_guard&) = delete;
        move_guard& operator=(const move_guard&) = delete;
        ~move_guard() {
            if (is_kept) return;
            position to = home.tree_.begin();
            for (position from = here.tree_.nth(before); from != here.tree_.end(); core::step(from), core::step(to)) {
                std::destroy_at(std::addressof(to.value()));
                std::construct_at(std::addressof(to.value()), std::move(from.value()));
            }
        }
    };

    // Effects: append for a tree with an unequal allocator.
    void append_foreign(vector_tree& other) {
        if constexpr (moves_back) {
            insertion_guard added(*this, size());
            move_guard taken(other, *this);
            append_while(std::move_iterator(other.begin()), std::move_sentinel(other.end()));
            taken.is_kept = true;
            added.keep();
        } else if constexpr (detail::is_copyable<T>) {
            append_each(std::as_const(other).begin(), std::as_const(other).end());
        } else {
            move_each(other);
        }
        other.clear();
    }
    // Effects: the same, one by one: each element is made here when nothing else can fail, and leaves the other tree.
    void move_each(vector_tree& other) {
        const mark_guard in_any_case(*this);
        struct departure {
            vector_tree& tree;
            bool is_due = false;
            ~departure() { leave(); }
            void leave() noexcept {
                if (std::exchange(is_due, false)) tree.pop_front();
            }
        } moved{other};
        tree_.append_all([&](auto& alloc, auto& slot) {
            moved.leave();
            if (other.empty()) return false;
            slot.create(alloc, std::move(other.front()));
            moved.is_due = true;
            return true;
        });
    }

    // Removes what was inserted at an index, unless it is told to keep it.
    class insertion_guard {
      public:
        insertion_guard(vector_tree& into, size_type at) noexcept : tree_(into), index_(at), before_(into.size()) {}
        insertion_guard(const insertion_guard&) = delete;
        insertion_guard& operator=(const insertion_guard&) = delete;
        ~insertion_guard() {
            if (!is_kept_) tree_.erase_at(index_, index_ + (tree_.size() - before_));
            tree_.mark();
        }
        void keep() noexcept { is_kept_ = true; }

      private:
        vector_tree& tree_;
        size_type index_;
        size_type before_;
        bool is_kept_ = false;
    };

    // Effects: tells the last leaf its owner, for iterators that leave it.
    void mark() noexcept {
        const position end = tree_.end();
        if (end.at != nullptr) end.at->tracked.owner = &tree_;
    }

    [[nodiscard]] position last() const noexcept {
        position at = tree_.end();
        core::step_back(at);
        return at;
    }

    template <class... Arguments>
    iterator put(const position& before, Arguments&&... arguments) {
        const position made = tree_.emplace(before, std::forward<Arguments>(arguments)...);
        mark();
        return {made, &tree_};
    }

    // Effects: calls make(next) until it returns false; make inserts in front of `next` and returns the position.
    template <class Make>
    iterator insert_each(const const_iterator& before, Make make) {
        if (!is_mine(before)) return end();
        const size_type index = index_of(before);
        insertion_guard added(*this, index);
        for (position next = before.position(); make(next);) core::step(next);
        added.keep();
        return nth(index);
    }
    template <class First, class Last>
    void append_each(First first, Last last) {
        insertion_guard added(*this, size());
        append_while(std::move(first), std::move(last));
        added.keep();
    }
    // Effects: the same, and what was appended stays.
    template <class First, class Last>
    void append_while(First first, Last last) {
        tree_.append_all([&](auto& alloc, auto& slot) {
            if (first == last) return false;
            slot.create(alloc, *first);
            ++first;
            return true;
        });
    }
    template <class Make>
    void append_made(size_type elements, Make make) {
        insertion_guard added(*this, size());
        tree_.append_all([&](auto& alloc, auto& slot) {
            if (elements == 0) return false;
            make(alloc, slot);
            --elements;
            return true;
        });
        added.keep();
    }

    void expect_index(size_type index) const {
        if (index >= size()) detail::no_such_element("vector_tree: at: there is no such element");
    }
    // Effects: in checked mode, ends the program if the element does not exist.
    void expect_element([[maybe_unused]] size_type index) const noexcept {
#if defined(MILLPOND_CHECKED)
        if (index < size()) return;
        detail::report_use(misuse_kind::foreign_iterator, "a vector_tree has no element with this index");
#endif
    }
    // Returns: in checked mode, false if an iterator is singular or of another tree, and misuse_handler returns.
    [[nodiscard]] bool is_mine([[maybe_unused]] const const_iterator& of) const noexcept {
#if defined(MILLPOND_CHECKED)
        const core* const owner = of.owner();
        if (owner == &tree_) return true;
        if (owner == nullptr) {
            detail::report_use(misuse_kind::stale_iterator, "the element of a vector_tree's iterator was erased");
        } else {
            detail::report_use(misuse_kind::foreign_iterator,
                               "a vector_tree is called with an iterator of another one");
        }
        return false;
#else
        return true;
#endif
    }

    core tree_;
};

template <std::input_iterator First, std::sentinel_for<First> Last,
          class Allocator = std::allocator<std::iter_value_t<First>>>
vector_tree(First, Last, Allocator = Allocator()) -> vector_tree<std::iter_value_t<First>, Allocator>;
#if defined(__cpp_lib_containers_ranges)
template <std::ranges::input_range Range, class Allocator = std::allocator<std::ranges::range_value_t<Range>>>
vector_tree(std::from_range_t, Range&&, Allocator = Allocator())
    -> vector_tree<std::ranges::range_value_t<Range>, Allocator>;
#endif

// A vector_tree with its pool inside, over any allocator. Leaves are as large as slots of the pool may be.
template <class T, class Allocator = std::allocator<T>>
using pooled_vector_tree =
    vector_tree<T, suballocator<Allocator>, detail::tree_shape<T, detail::no_order, detail::follower_tracker>>;

}  // namespace millpond::inline MILLPOND_ABI
