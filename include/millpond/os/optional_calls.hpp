// SPDX-License-Identifier: BSL-1.0
// optional_calls: pointers to the calls of pages and faults, for code that can do without them. They are null in a
// program that does not link src/os.
//
//   program that uses only headers           ─▶ null: checked mode reports what it finds by itself
//   program with millpond::millpond linked   ─▶ the calls: it sees wild reads as well
//
// It refers to the functions weakly, so it demands nothing of the link; code that needs the calls uses pages and faults
// directly. Null on systems other than ELF. Each call is as thread-safe as the function of that name.
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

    // Returns: the calls, or null if src/os is not linked. Complexity: O(1).
    [[nodiscard]] static const optional_calls* linked() noexcept;
};

#if defined(__ELF__)
// Defined in src/os/posix.cpp. cmake/mode.cmake refers to it by name.
[[gnu::weak]] extern const optional_calls all_optional_calls;
inline const optional_calls* optional_calls::linked() noexcept { return &all_optional_calls; }
#else
inline const optional_calls* optional_calls::linked() noexcept { return nullptr; }
#endif

}  // namespace millpond::os
