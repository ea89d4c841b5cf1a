// SPDX-License-Identifier: BSL-1.0
// iterator_checks: in checked mode, verifies that iterators passed to a container are its own; else empty.
//
//   a.erase(b.begin())  ──▶ "millpond: foreign iterator: the iterator belongs to another container"
//
// Part of the associative containers. A core's `owns` checks what it can: a tree of nodes climbs to its head; a B-tree
// compares what the iterator remembers of it. If misuse_handler returns, the container's call does nothing.
//
// O(log n); no instruction without MILLPOND_CHECKED. As thread-safe as the container.
#pragma once

#include "../../core/abi.hpp"

#if defined(MILLPOND_CHECKED)
#include "../../wrap/misuse.hpp"
#endif

namespace millpond::inline MILLPOND_ABI::detail {

struct iterator_checks {
#if defined(MILLPOND_CHECKED)
    template <class Core, class Iterator>
    [[nodiscard]] static bool is_mine(const Core& core, const Iterator& where) noexcept {
        if constexpr (requires { core.is_stale(where); }) {
            if (core.is_stale(where)) return expect_fresh(false);
        }
        if (core.owns(where)) return true;
        report_use(misuse_kind::foreign_iterator, "the iterator belongs to another container");
        return false;
    }
    template <class Core, class Iterator>
    [[nodiscard]] static bool is_my_element(const Core& core, const Iterator& where) noexcept {
        if (!is_mine(core, where)) return false;
        return expect_element(core.position_of(where) != core.end());
    }
    template <class Core, class Iterator>
    [[nodiscard]] static bool is_my_range(const Core& core, const Iterator& first, const Iterator& last) noexcept {
        if (!is_mine(core, first) || !is_mine(core, last)) return false;
        if (core.index_of(core.position_of(first)) <= core.index_of(core.position_of(last))) return true;
        report_use(misuse_kind::foreign_iterator, "a range of elements ends before it begins");
        return false;
    }
    static bool expect_element(bool holds) noexcept {
        if (!holds) report_use(misuse_kind::foreign_iterator, "the end of a container was used as an element");
        return holds;
    }
    static bool expect_fresh(bool holds) noexcept {
        if (!holds) report_use(misuse_kind::stale_iterator, "its container was changed after the iterator was made");
        return holds;
    }
#else
    template <class Core, class Iterator>
    [[nodiscard]] static constexpr bool is_mine(const Core&, const Iterator&) noexcept {
        return true;
    }
    template <class Core, class Iterator>
    [[nodiscard]] static constexpr bool is_my_element(const Core&, const Iterator&) noexcept {
        return true;
    }
    template <class Core, class Iterator>
    [[nodiscard]] static constexpr bool is_my_range(const Core&, const Iterator&, const Iterator&) noexcept {
        return true;
    }
    static constexpr void expect_element(bool) noexcept {}
    static constexpr void expect_fresh(bool) noexcept {}
#endif
};

}  // namespace millpond::inline MILLPOND_ABI::detail
