// SPDX-License-Identifier: BSL-1.0
// forward_order: sorts a singly linked list, and merges two, so that every node is in a list at any time.
//
//   before ─▶ │ left run │ ─▶ │ right run │      a node of the right run that comes first is spliced behind `before`
//
// Part of pooled_forward_list: the standard libraries' own functions take the list apart, and lose nodes if a
// comparison throws. Stable. sort: O(n log n) comparisons, at most 2 n log n steps. merge: O(n + m). Both throw what
// the comparison throws: every node is then in one of the lists, in some order. Not thread-safe.
#pragma once

#include <cstddef>
#include <iterator>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Effects: moves the nodes of `from` into `list`; both are sorted.
template <class List, class From, class Compare>
void merge_forward(List& list, From& from, Compare& compare) {
    for (auto before = list.before_begin(); !from.empty(); ++before) {
        const auto next = std::next(before);
        if (next == list.end()) return list.splice_after(before, from);
        if (compare(from.front(), *next)) list.splice_after(before, from, from.before_begin());
    }
}

// Effects: merges two runs behind `before`: one that ends with `left_last`, and the next `right` nodes. Returns: the
// last node of both.
template <class List, class Iterator, class Compare>
Iterator merge_runs(List& list, Iterator before, Iterator left_last, std::size_t right, Compare& compare) {
    while (right != 0 && before != left_last) {
        if (compare(*std::next(left_last), *std::next(before))) {
            list.splice_after(before, list, left_last);
            --right;
        }
        ++before;
    }
    return std::next(left_last, static_cast<std::ptrdiff_t>(right));
}

template <class List, class Compare>
void sort_forward(List& list, Compare& compare) {
    const auto step = [&](auto& at, std::size_t most) {
        std::size_t steps = 0;
        for (; steps < most && std::next(at) != list.end(); ++steps) ++at;
        return steps;
    };
    std::size_t merges = 2;
    for (std::size_t width = 1; merges > 1; width *= 2) {
        merges = 0;
        for (auto before = list.before_begin(); std::next(before) != list.end(); ++merges) {
            auto left_last = before;
            step(left_last, width);
            auto right_last = left_last;
            const std::size_t right = step(right_last, width);
            before = merge_runs(list, before, left_last, right, compare);
        }
    }
}

}  // namespace millpond::inline MILLPOND_ABI::detail
