// SPDX-License-Identifier: BSL-1.0
// element_shape: the element type of an associative container, the place of its key, and its move.
//
//   set_element<Key>          Key                            key: the element
//   map_element<Key, Mapped>  std::pair<const Key, Mapped>   key: the first of the pair
//
// Part of the associative containers. When a container moves an element, it moves from its const key as well: no code
// reads the key of an element that is about to end.
//
// O(1). Thread-safe.
#pragma once

#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Key>
struct set_element {
    using key_type = Key;
    using mapped_type = void;
    using value_type = Key;
    static constexpr bool is_map = false;

    [[nodiscard]] static const Key& key(const value_type& value) noexcept { return value; }
    static const Key& key(const value_type&&) = delete;  // the key is a part of the element

    // Effects: calls `make` with the arguments for an element that takes the place of this one. Like the standard's
    // containers, it copies if a move might throw, so that a failure leaves the old element whole.
    template <class Make>
    static decltype(auto) moved(value_type& value, Make&& make) {
        return make(std::move_if_noexcept(value));
    }
};

template <class Key, class Mapped>
struct map_element {
    using key_type = Key;
    using mapped_type = Mapped;
    using value_type = std::pair<const Key, Mapped>;
    static constexpr bool is_map = true;

    [[nodiscard]] static const Key& key(const value_type& value) noexcept { return value.first; }

    template <class Make>
    static decltype(auto) moved(value_type& value, Make&& make) {
        constexpr bool may_throw =
            !std::is_nothrow_move_constructible_v<Key> || !std::is_nothrow_move_constructible_v<Mapped>;
        if constexpr (may_throw && std::is_copy_constructible_v<Key> && std::is_copy_constructible_v<Mapped>) {
            return make(std::as_const(value));
        } else {
            return make(std::move(const_cast<Key&>(value.first)), std::move(value.second));
        }
    }
};

// The place for an element or, if it would not be new, the place of its equal.
template <class Place>
struct search_result {
    Place to;
    bool is_new;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
