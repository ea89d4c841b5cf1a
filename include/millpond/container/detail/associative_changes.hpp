// SPDX-License-Identifier: BSL-1.0
// associative_changes: the changes of an associative container: insertion, erasure, extraction, by key, place and rank.
//
//   insert, emplace ──▶ search the place ──▶ make the element ──▶ core.insert(place)
//                       may throw            may throw            counts and links: nothing is lost before this point
//
// Part of the associative containers (associative.hpp). If the key is visible in the arguments, it searches the place
// first, so that no element is made when an equal one exists; otherwise it makes the element first.
//
// All O(log n) for each element. Not thread-safe.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "associative_search.hpp"
#include "element_shape.hpp"
#include "node_handle.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The key in the arguments of an emplace, if it is visible there.
template <class Element, class... Arguments>
struct visible_key {
    static constexpr bool is_there = false;
};
template <class Element, class Value>
    requires std::same_as<std::remove_cvref_t<Value>, typename Element::value_type>
struct visible_key<Element, Value> {
    static constexpr bool is_there = true;
    static const auto& in(const Value& value) noexcept { return Element::key(value); }
};
template <class Element, class Key, class Mapped>
    requires(Element::is_map && std::same_as<std::remove_cvref_t<Key>, typename Element::key_type>)
struct visible_key<Element, Key, Mapped> {
    static constexpr bool is_there = true;
    static const auto& in(const Key& key, const Mapped&) noexcept { return key; }
};

template <class Element, class Pair>
    requires(Element::is_map && !std::same_as<std::remove_cvref_t<Pair>, typename Element::value_type> &&
             std::same_as<std::remove_cvref_t<Pair>,
                          std::pair<typename Element::key_type, typename std::remove_cvref_t<Pair>::second_type>>)
struct visible_key<Element, Pair> {
    static constexpr bool is_there = true;
    static const auto& in(const Pair& pair) noexcept { return pair.first; }
};

template <class Key, class Compare, class Iterator, class ConstIterator>
concept key_of_another_type =
    is_transparent<Compare> && !std::is_convertible_v<Key, Iterator> && !std::is_convertible_v<Key, ConstIterator>;

template <class Core, class Compare, bool IsUnique>
class associative_changes : public associative_search<Core, Compare, IsUnique> {
    using base = associative_search<Core, Compare, IsUnique>;

  protected:
    using typename base::element;
    using hint_place = typename Core::hint_place;
    using place = typename Core::place;
    using base::compare_;
    using base::core_;
    using base::to_iterator;
    using typename base::position;

  public:
    using typename base::const_iterator;
    using typename base::iterator;
    using typename base::key_type;
    using typename base::size_type;
    using typename base::value_type;
    using node_type = node_handle<Core>;
    using insert_return_type = node_insert_result<iterator, node_type>;
    // The position of the element and, for containers without equal keys, whether it is new.
    using insert_result = std::conditional_t<IsUnique, std::pair<iterator, bool>, iterator>;

    insert_result insert(const value_type& value) { return emplace(value); }
    insert_result insert(value_type&& value) { return emplace(std::move(value)); }
    template <class Value>
        requires(element::is_map && std::is_constructible_v<value_type, Value &&>)
    insert_result insert(Value&& value) {
        return emplace(std::forward<Value>(value));
    }
    iterator insert(const_iterator hint, const value_type& value) { return emplace_hint(hint, value); }
    iterator insert(const_iterator hint, value_type&& value) { return emplace_hint(hint, std::move(value)); }
    template <class Value>
        requires(element::is_map && std::is_constructible_v<value_type, Value &&>)
    iterator insert(const_iterator hint, Value&& value) {
        return emplace_hint(hint, std::forward<Value>(value));
    }
    template <std::input_iterator First, std::sentinel_for<First> Last>
    void insert(First first, Last last) {
        if (this->empty()) append_sorted(first, last);
        for (; first != last; ++first) emplace_hint(this->cend(), *first);
    }
    void insert(std::initializer_list<value_type> values) { insert(values.begin(), values.end()); }
    template <std::ranges::input_range Range>
    void insert_range(Range&& range) {
        insert(std::ranges::begin(range), std::ranges::end(range));
    }

    template <class... Arguments>
    insert_result emplace(Arguments&&... arguments) {
        return put([&](const auto& key) { return find_place(key); }, std::forward<Arguments>(arguments)...);
    }
    // Effects: as emplace; needs no search if the element belongs directly before or behind the hint.
    template <class... Arguments>
    iterator emplace_hint(const_iterator hint, Arguments&&... arguments) {
        if (!this->is_mine(hint)) hint = this->cend();
        const position near = core_.position_of(hint);
        return position_in(
            put([&](const auto& key) { return find_place(near, key); }, std::forward<Arguments>(arguments)...));
    }

    // Effects: inserts the element of the handle, if it has one. If an equal one exists, the handle keeps its element.
    auto insert(node_type&& node) {
        if constexpr (IsUnique) {
            if (node.empty()) return insert_return_type{this->end(), false, node_type()};
            const auto where = find_place(element::key(node.content().get()));
            if (!where.is_new)
                return insert_return_type{to_iterator(core_.position_at(where.to)), false, std::move(node)};
            return insert_return_type{to_iterator(core_.insert_held(where.to, std::move(node.content()))), true,
                                      node_type()};
        } else {
            if (node.empty()) return this->end();
            const auto where = find_place(element::key(node.content().get()));
            return to_iterator(core_.insert_held(where.to, std::move(node.content())));
        }
    }
    iterator insert(const_iterator hint, node_type&& node) {
        if (node.empty()) return this->end();
        if (!this->is_mine(hint)) hint = this->cend();
        const auto where = find_place(core_.position_of(hint), element::key(node.content().get()));
        if (!where.is_new) return to_iterator(core_.position_at(where.to));
        return to_iterator(core_.insert_held(where.to, std::move(node.content())));
    }

    [[nodiscard]] node_type extract(const_iterator where) {
        if (!this->is_my_element(where)) return node_type();
        return node_type(core_.extract(core_.position_of(where)));
    }
    [[nodiscard]] node_type extract(const key_type& key) { return extract_key(key); }
    template <class Key>
        requires key_of_another_type<Key, Compare, iterator, const_iterator>
    [[nodiscard]] node_type extract(Key&& key) {
        return extract_key(key);
    }

    // Returns: the element behind the erased one.
    iterator erase(const_iterator where) {
        return this->is_my_element(where) ? to_iterator(core_.erase(core_.position_of(where))) : this->end();
    }
    iterator erase(iterator where)
        requires(!std::same_as<iterator, const_iterator>)
    {
        return erase(const_iterator(where));
    }
    iterator erase(const_iterator first, const_iterator last) {
        if (!iterator_checks::is_my_range(core_, first, last)) return this->end();
        return to_iterator(core_.erase(core_.position_of(first), core_.position_of(last)));
    }
    // Returns: the number of erased elements.
    size_type erase(const key_type& key) { return erase_key(key); }
    template <class Key>
        requires key_of_another_type<Key, Compare, iterator, const_iterator>
    size_type erase(Key&& key) {
        return erase_key(key);
    }
    // Effects: erases the element with rank `index`. Precondition: index < size().
    iterator erase_nth(size_type index) { return erase(this->nth(index)); }
    // Effects: erases the elements of ranks [first, last), as far as they exist.
    iterator erase_ranks(size_type first, size_type last) {
        const auto erased = this->ranks(first, last);
        return to_iterator(core_.erase(core_.position_of(erased.begin()), core_.position_of(erased.end())));
    }
    void clear() noexcept { core_.clear(); }

  protected:
    using base::base;

    template <class Key>
    [[nodiscard]] search_result<place> find_place(const Key& key) const {
        if constexpr (IsUnique) {
            return core_.unique_place(key, compare_);
        } else {
            return {core_.last_place(key, compare_), true};
        }
    }
    // The same; of several places for equal keys, returns the one nearest to `near`.
    [[nodiscard]] search_result<hint_place> find_place(position near, const key_type& key) const {
        if (near == core_.end() || comes_before(key, near)) {
            if (near == core_.begin() || comes_behind(key, core_.previous(near))) return new_before(near);
            return from_search(key);
        }
        if (!comes_behind(key, near)) return {core_.place_before(near), false};
        const position next = core_.next(near);
        if (next == core_.end() || comes_before(key, next)) return new_before(next);
        if constexpr (IsUnique) return from_search(key);
        return {core_.first_place(key, compare_), true};
    }

    [[nodiscard]] insert_result result(position where, [[maybe_unused]] bool is_new) const noexcept {
        if constexpr (IsUnique) {
            return {to_iterator(where), is_new};
        } else {
            return to_iterator(where);
        }
    }
    [[nodiscard]] static iterator position_in(const insert_result& inserted) noexcept {
        if constexpr (IsUnique) {
            return inserted.first;
        } else {
            return inserted;
        }
    }

  private:
    // In containers with equal keys, equal keys count as coming before each other.
    [[nodiscard]] bool comes_before(const key_type& key, position other) const {
        return IsUnique ? compare_(key, core_.key(other)) : !compare_(core_.key(other), key);
    }
    [[nodiscard]] bool comes_behind(const key_type& key, position other) const {
        return comes_behind(key, core_.at(other));
    }
    [[nodiscard]] bool comes_behind(const key_type& key, const value_type& other) const {
        return IsUnique ? compare_(element::key(other), key) : !compare_(key, element::key(other));
    }
    [[nodiscard]] search_result<hint_place> new_before(position near) const { return {core_.place_before(near), true}; }
    [[nodiscard]] search_result<hint_place> from_search(const key_type& key) const {
        const auto found = find_place(key);
        return {core_.as_hint(found.to), found.is_new};
    }

    template <class Find, class... Arguments>
    insert_result put(Find find, Arguments&&... arguments) {
        using key_in = visible_key<element, Arguments...>;
        if constexpr (key_in::is_there) {
            const auto where = find(key_in::in(arguments...));
            if (!where.is_new) return result(core_.position_at(where.to), false);
            return result(core_.insert(where.to, std::forward<Arguments>(arguments)...), true);
        } else {
            auto made = core_.make(std::forward<Arguments>(arguments)...);
            const auto where = find(element::key(core_.made_value(made)));
            if (!where.is_new) return result(core_.position_at(where.to), false);
            return result(core_.insert_made(where.to, std::move(made)), true);
        }
    }

    // Effects: inserts the elements of the range as long as they are in order, and advances `first` to the next one.
    template <class First, class Last>
    void append_sorted(First& first, const Last& last) {
        using key_in = visible_key<element, std::iter_reference_t<First>>;
        if constexpr (key_in::is_there) {
            const value_type* previous = nullptr;
            core_.fill([&](auto create) {
                for (; first != last; ++first) {
                    auto&& value = *first;
                    if (previous == nullptr || comes_behind(key_in::in(value), *previous)) {
                        previous = std::addressof(create(std::forward<decltype(value)>(value)));
                        ++first;
                        return true;
                    }
                    if (compare_(key_in::in(value), element::key(*previous))) return false;
                }
                return false;
            });
        }
    }

    template <class Key>
    [[nodiscard]] node_type extract_key(const Key& key) {
        const position where = core_.find(key, compare_);
        return where == core_.end() ? node_type() : node_type(core_.extract(where));
    }
    template <class Key>
    size_type erase_key(const Key& key) {
        if constexpr (IsUnique && std::same_as<Key, key_type>) {
            const auto where = core_.unique_place(key, compare_);
            if (!where.is_new) core_.erase_at(where.to);
            return where.is_new ? 0 : 1;
        }
        const position first = core_.find(key, compare_);
        if (first == core_.end()) return 0;
        position last = core_.next(first);
        if (last == core_.end() || compare_(key, core_.key(last))) {
            core_.erase(first);
            return 1;
        }
        const size_type before = core_.size();
        last = core_.upper(key, compare_);
        core_.erase(first, last);
        return before - core_.size();
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
