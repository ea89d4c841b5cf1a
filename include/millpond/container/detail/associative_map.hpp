// SPDX-License-Identifier: BSL-1.0
// associative_map: the extra members of a map with unique keys: operator[], at, try_emplace, insert_or_assign.
//
//   try_emplace(key, arguments…) ──▶ the key is there: nothing is made, nothing is moved from
//                                └─▶ else the element is made of both, where it belongs
//
// Part of counted_map and ordered_map.
//
// O(log n). Not thread-safe.
#pragma once

#include <tuple>
#include <utility>

#include "../../core/abi.hpp"
#include "associative.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Derived, class Core, class Compare>
class associative_map : public associative<Derived, Core, Compare, true> {
    using base = associative<Derived, Core, Compare, true>;

  public:
    using typename base::const_iterator;
    using typename base::iterator;
    using typename base::key_type;
    using mapped_type = typename Core::element::mapped_type;

    using base::base;

    // Returns: the value of the key, which is inserted if the key is new.
    mapped_type& operator[](const key_type& key) { return try_emplace(key).first->second; }
    mapped_type& operator[](key_type&& key) { return try_emplace(std::move(key)).first->second; }
    // Throws: std::out_of_range.
    [[nodiscard]] mapped_type& at(const key_type& key) { return existing(*this, key); }
    [[nodiscard]] const mapped_type& at(const key_type& key) const { return existing(*this, key); }

    template <class... Arguments>
    std::pair<iterator, bool> try_emplace(const key_type& key, Arguments&&... arguments) {
        return try_put(this->find_place(key), key, std::forward<Arguments>(arguments)...);
    }
    template <class... Arguments>
    std::pair<iterator, bool> try_emplace(key_type&& key, Arguments&&... arguments) {
        return try_put(this->find_place(key), std::move(key), std::forward<Arguments>(arguments)...);
    }
    template <class... Arguments>
    iterator try_emplace(const_iterator hint, const key_type& key, Arguments&&... arguments) {
        return try_put(find_place_near(hint, key), key, std::forward<Arguments>(arguments)...).first;
    }
    template <class... Arguments>
    iterator try_emplace(const_iterator hint, key_type&& key, Arguments&&... arguments) {
        return try_put(find_place_near(hint, key), std::move(key), std::forward<Arguments>(arguments)...).first;
    }

    template <class Mapped>
    std::pair<iterator, bool> insert_or_assign(const key_type& key, Mapped&& mapped) {
        return put_or_assign(this->find_place(key), key, std::forward<Mapped>(mapped));
    }
    template <class Mapped>
    std::pair<iterator, bool> insert_or_assign(key_type&& key, Mapped&& mapped) {
        return put_or_assign(this->find_place(key), std::move(key), std::forward<Mapped>(mapped));
    }
    template <class Mapped>
    iterator insert_or_assign(const_iterator hint, const key_type& key, Mapped&& mapped) {
        return put_or_assign(find_place_near(hint, key), key, std::forward<Mapped>(mapped)).first;
    }
    template <class Mapped>
    iterator insert_or_assign(const_iterator hint, key_type&& key, Mapped&& mapped) {
        return put_or_assign(find_place_near(hint, key), std::move(key), std::forward<Mapped>(mapped)).first;
    }

  private:
    template <class Self>
    [[nodiscard]] static auto& existing(Self& self, const key_type& key) {
        const auto found = self.find(key);
        if (found == self.end()) no_such_element("map: at() of a key that is not there");
        return found->second;
    }
    [[nodiscard]] auto find_place_near(const_iterator hint, const key_type& key) const {
        if (!this->is_mine(hint)) hint = this->cend();
        return this->find_place(this->core_.position_of(hint), key);
    }
    template <class Place, class Key, class... Arguments>
    std::pair<iterator, bool> try_put(const search_result<Place>& where, Key&& key, Arguments&&... arguments) {
        if (!where.is_new) return {this->to_iterator(this->core_.position_at(where.to)), false};
        return {this->to_iterator(this->core_.insert(where.to, std::piecewise_construct,
                                                     std::forward_as_tuple(std::forward<Key>(key)),
                                                     std::forward_as_tuple(std::forward<Arguments>(arguments)...))),
                true};
    }
    template <class Place, class Key, class Mapped>
    std::pair<iterator, bool> put_or_assign(const search_result<Place>& where, Key&& key, Mapped&& mapped) {
        if (where.is_new) return try_put(where, std::forward<Key>(key), std::forward<Mapped>(mapped));
        const iterator there = this->to_iterator(this->core_.position_at(where.to));
        there->second = std::forward<Mapped>(mapped);
        return {there, false};
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
