// SPDX-License-Identifier: BSL-1.0
// optional_calls: the calls of pages and faults for those who can do without them: null in a program that does not
// link src/os.
//
//   program of headers alone                 ─▶ null: checked mode reports what it finds by itself
//   program with millpond::millpond linked   ─▶ the calls: it sees wild reads as well
//
// A pointer to functions that are referred to weakly, so that it asks nothing of the link. Who needs the calls names
// pages and faults. Elsewhere than on ELF systems it is null. Each call is as thread-safe as its namesake there.
//
// Example:
//     if (const auto* const calls = millpond::os::optional_calls::linked()) assert(calls->page_bytes() >= 4096);
#pragma once

#include "faults.hpp"
#include "pages.hpp"

namespace millpond::os {

struct optional_calls {
    decltype(&pages::size) page_bytes;
    decltype(&pages::reserve) reserve;
    decltype(&pages::commit) commit;
    decltype(&pages::decommit) decommit;
    decltype(&pages::protect) protect;
    decltype(&pages::release) release;
    decltype(&faults::watch) watch_faults;

    // Returns: the calls, or null where they are not linked. Complexity: O(1).
    [[nodiscard]] static const optional_calls* linked() noexcept;
};

#if defined(__ELF__)
// Defined in src/os/posix.cpp. cmake/mode.cmake asks for it by its name.
[[gnu::weak]] extern const optional_calls all_optional_calls;
inline const optional_calls* optional_calls::linked() noexcept { return &all_optional_calls; }
#else
inline const optional_calls* optional_calls::linked() noexcept { return nullptr; }
#endif

}  // namespace millpond::os
