// SPDX-License-Identifier: BSL-1.0
// pages: the system's pages, addresses and memory apart. The only system calls of the library stand behind it.
//
//   reserve ──▶ │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│  addresses: nothing may touch them, nothing is charged
//   commit  ──▶ │█████████│▒▒▒▒▒▒▒│  readable, writable, charged; a page of memory comes when it is first touched
//   discard ──▶ │███│   │███│▒▒▒▒▒▒▒│  the memory is given back, the page still belongs to us and reads as zero
//   decommit ─▶ │███│▒▒▒▒▒▒▒▒▒▒▒▒▒│  memory and charge are given back
//   release ──▶                      the addresses as well
//
// Use reservation, which keeps the books over one range; this is for what stands below it. Charged means that the
// system has promised the memory: a commit that it cannot keep fails here and not later, where it counts at all.
//
// Addresses and sizes are multiples of size(), those of reserve and release of granularity(), and sizes are not 0.
// Nothing throws, and errno stays as it was. Complexity: one system call, and O(pages) inside it for pages that hold
// memory. Thread-safe for ranges that do not overlap. Stateless. Implemented in src/os: link millpond::millpond.
//
// Example:
//     using millpond::os::pages;
//     const std::size_t bytes = pages::granularity();
//     void* range = pages::reserve(bytes);
//     assert(range != nullptr && pages::commit(range, pages::size()));
//     static_cast<char*>(range)[pages::size() - 1] = 'x';
//     pages::release(range, bytes);
#pragma once

#include <cstddef>

namespace millpond::os {

struct pages {
    // Returns: the bytes in a page, as this run of the system has them.
    [[nodiscard]] static std::size_t size() noexcept;

    // Returns: the unit of reservations in bytes: a page, or 64 KiB on Windows.
    [[nodiscard]] static std::size_t granularity() noexcept;

    // Returns: addresses without memory, aligned to granularity(), or null.
    [[nodiscard]] static void* reserve(std::size_t bytes) noexcept;

    // Effects: the pages may be read and written; new ones read as zero, committed ones keep what they hold.
    // Returns: false if the system refuses the charge; nothing has changed.
    [[nodiscard]] static bool commit(void* at, std::size_t bytes) noexcept;

    // Effects: says that committed pages will be written now, so that the system may supply them at once. Their
    // contents stay. Nothing where the system knows no such call.
    static void populate(void* at, std::size_t bytes) noexcept;

    // Effects: memory and charge go back; no access until the next commit.
    // Returns: false if the system refuses; nothing has changed.
    [[nodiscard]] static bool decommit(void* at, std::size_t bytes) noexcept;

    // Effects: the memory of committed pages goes back; they stay accessible and charged, and read as zero.
    static void discard(void* at, std::size_t bytes) noexcept;

    // Effects: gives up the contents of these accessible pages, whoever has mapped them. They stay
    // accessible and hold what they held or zeros. No effect where the system refuses, as for locked pages.
    static void let_go(void* at, std::size_t bytes) noexcept;

    // Effects: no access until the next commit; memory and charge stay, and so do the contents.
    // Returns: false if the system refuses; nothing has changed.
    [[nodiscard]] static bool protect(void* at, std::size_t bytes) noexcept;

    // Effects: asks for huge pages, or for none, from now on. Advice: what the system makes of it is its own affair.
    // Returns: false where the system knows no such advice.
    static bool advise_huge(void* at, std::size_t bytes, bool wanted) noexcept;

    // Effects: gives back a whole reservation.
    static void release(void* at, std::size_t bytes) noexcept;
};

}  // namespace millpond::os
