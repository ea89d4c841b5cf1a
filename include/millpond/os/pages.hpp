// SPDX-License-Identifier: BSL-1.0
// pages: the system's pages, with addresses and memory handled apart. It makes all system calls of the library.
//
//   reserve ──▶ │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│  addresses: nothing may touch them, nothing is charged
//   commit  ──▶ │█████████│▒▒▒▒▒▒▒│  readable, writable, charged; a page of memory comes when it is first touched
//   discard ──▶ │███│   │███│▒▒▒▒▒▒▒│  the memory is given back, the page still belongs to us and reads as zero
//   writable ─▶ │rrr│     │rrrr│▒▒▒▒▒▒▒│  set_writable(false): read-only, contents stay
//   decommit ─▶ │███│▒▒▒▒▒▒▒▒▒▒▒▒▒│  memory and charge are given back
//   release ──▶                      the addresses as well
//
// Use reservation, which keeps track of one range; this is for the code beneath it. file_pages and numa_pages have the
// same members for other memory. Charged means that the system has promised the memory: on a system that counts
// promises, a commit that it cannot keep fails here and not later.
//
// Addresses and sizes are multiples of size(), those of reserve and release of granularity(), and sizes are not 0.
// Throws nothing and leaves errno as it was. Complexity: one system call, and O(pages) inside it for pages that hold
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
    // Returns: the bytes in a page on this system.
    [[nodiscard]] static std::size_t size() noexcept;

    // Returns: the unit of reservations in bytes: a page, or 64 KiB on Windows.
    [[nodiscard]] static std::size_t granularity() noexcept;

    // Returns: addresses without memory, aligned to granularity(), or null.
    [[nodiscard]] static void* reserve(std::size_t bytes) noexcept;

    // Effects: makes the pages readable and writable; new ones read as zero, committed ones keep their contents.
    // Returns: false if the system refuses the charge; then nothing has changed.
    [[nodiscard]] static bool commit(void* at, std::size_t bytes) noexcept;

    // Effects: tells the system that committed pages will be written now, so that it may supply them at once. Their
    // contents stay. No effect if the system has no such call.
    static void populate(void* at, std::size_t bytes) noexcept;

    // Effects: returns memory and charge; no access until the next commit. Returns: false if the system refuses; then
    // nothing has changed.
    [[nodiscard]] static bool decommit(void* at, std::size_t bytes) noexcept;

    // Effects: returns the memory of committed pages; they stay accessible and charged, and read as zero.
    static void discard(void* at, std::size_t bytes) noexcept;

    // Effects: gives up the contents of these accessible pages, whoever has mapped them. They stay accessible and hold
    // their old contents or zeros. No effect if the system refuses, as for locked pages.
    static void let_go(void* at, std::size_t bytes) noexcept;

    // Effects: forbids access until the next commit; memory, charge and contents stay. Returns: false if the system
    // refuses; then nothing has changed.
    [[nodiscard]] static bool protect(void* at, std::size_t bytes) noexcept;

    // Effects: makes committed pages read-only, or writable again; contents, memory and charge stay. A write to
    // read-only pages is a fault (SIGSEGV). Returns: false if the system refuses.
    [[nodiscard]] static bool set_writable(void* at, std::size_t bytes, bool writable) noexcept;

    // Effects: asks for huge pages, or for none, from now on. It is advice, which the system may ignore. Returns: false
    // if the system has no such advice.
    static bool advise_huge(void* at, std::size_t bytes, bool wanted) noexcept;

    // Effects: gives back a whole reservation.
    static void release(void* at, std::size_t bytes) noexcept;
};

}  // namespace millpond::os
