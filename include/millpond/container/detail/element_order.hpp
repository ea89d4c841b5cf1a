// SPDX-License-Identifier: BSL-1.0
// element_order: how containers compare elements for their operator<=>: by <=> where they have it, else by <.
//
//     3 <=> 4 ─▶ strong_ordering::less        elements with operator< alone ─▶ a weak_ordering
//
// O(1) calls of the elements' operators. Thread-safe as these.
#pragma once

#include <compare>
#include <concepts>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class T>
concept is_less_comparable = requires(const T& x) {
    { x < x } -> std::convertible_to<bool>;
};
template <class T>
concept is_ordered_somehow = std::three_way_comparable<T> || is_less_comparable<T>;

struct element_order {
    template <class T>
    [[nodiscard]] auto operator()(const T& x, const T& y) const {
        if constexpr (std::three_way_comparable<T>) {
            return x <=> y;
        } else {
            if (x < y) return std::weak_ordering::less;
            return y < x ? std::weak_ordering::greater : std::weak_ordering::equivalent;
        }
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
