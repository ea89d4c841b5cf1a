// SPDX-License-Identifier: BSL-1.0
// element_order: compares elements for a container's operator<=>: by <=> if they have it, else by <.
//
//     3 <=> 4 ─▶ strong_ordering::less        elements with only operator< ─▶ a weak_ordering
//
// compare_in_order is std::lexicographical_compare_three_way, which libc++ lacks before version 17.
// element_order: O(1) calls of the elements' operators. compare_in_order: O(elements). As thread-safe as these
// operators.
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

// Returns: the order of the first pair of elements that differ, else that of the lengths.
template <class First, class Last, class OtherFirst, class OtherLast>
[[nodiscard]] auto compare_in_order(First a, Last a_end, OtherFirst b, OtherLast b_end)
    -> decltype(element_order()(*a, *b)) {
    for (; a != a_end && b != b_end; ++a, ++b) {
        const auto order = element_order()(*a, *b);
        if (order != 0) return order;
    }
    if (a != a_end) return std::strong_ordering::greater;
    return b != b_end ? std::strong_ordering::less : std::strong_ordering::equal;
}

}  // namespace millpond::inline MILLPOND_ABI::detail
