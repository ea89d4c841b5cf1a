// SPDX-License-Identifier: BSL-1.0
// iterator_checks: in checked mode, iterators that a container is called with are its own; else nothing.
//
//   a.erase(b.begin())  ──▶ "millpond: foreign iterator: it is not of the container that is called with it", and an end
//
// Part of the associative containers. A core's `owns` says what it can know: a tree of nodes climbs to its head; a
// B-tree looks whether it has changed since the iterator was made. Where misuse_handler goes on, the call does nothing.
//
// O(log n); without MILLPOND_CHECKED not an instruction. Thread-safe as the container.
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
            if (core.is_stale(where)) {
                report_use(misuse_kind::stale_iterator, "the container was changed after the iterator was made");
                return false;
            }
        }
        if (core.owns(where)) return true;
        report_use(misuse_kind::foreign_iterator, "it is not of the container that is called with it");
        return false;
    }
    template <class Core, class Iterator>
    [[nodiscard]] static bool is_my_element(const Core& core, const Iterator& where) noexcept {
        if (!is_mine(core, where)) return false;
        if (core.position_of(where) != core.end()) return true;
        report_use(misuse_kind::foreign_iterator, "the end of a container is no element of it");
        return false;
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
#endif
};

}  // namespace millpond::inline MILLPOND_ABI::detail
