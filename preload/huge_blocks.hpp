// SPDX-License-Identifier: BSL-1.0
// huge_blocks: clears, empties and moves large blocks by whole pages, so that it touches no page that the program has
// not touched.
//
//   │ bytes │ whole pages: the system takes or moves them │ bytes │
//
// For blocks of the C library, whose memory is private and not of a file; blocks of other providers are written and
// copied. All functions keep errno. O(pages that hold memory). Thread-safe for different blocks.
#pragma once

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "millpond/os/pages.hpp"
#include "preload/address_gap.hpp"
#include "preload/real.hpp"

namespace millpond::preload {

class huge_blocks {
  public:
    // Blocks of at least this size are worth a system call for their pages.
    static constexpr std::size_t least_bytes = std::size_t{1} << 20;

    // Effects: makes the bytes of a block of any size read as zero.
    static void clear(void* block, std::size_t bytes) noexcept {
        const pages inside = pages_of(block, bytes);
        if (bytes < least_bytes || !real::is_libc() || !discard(inside)) {
            memset(block, 0, bytes);
            return;
        }
        auto* const first = static_cast<char*>(block);
        memset(first, 0, static_cast<std::size_t>(inside.first - first));
        memset(inside.first + inside.bytes, 0, static_cast<std::size_t>(first + bytes - (inside.first + inside.bytes)));
    }

    // Effects: returns the memory of the whole pages. They then read as zero, or keep their contents if the system
    // cannot take them.
    static void empty(void* block, std::size_t bytes) noexcept {
        if (bytes >= least_bytes && real::is_libc()) (void)discard(pages_of(block, bytes));
    }

    // Effects: gives `to` the bytes of `from`, which afterwards has undefined contents. Returns: false if `to` has lost
    // its pages to another mapping, and must not be touched again.
    [[nodiscard]] static bool move(void* to, void* from, std::size_t bytes) noexcept {
        const auto distance = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
        if (bytes < least_bytes || distance % os::pages::size() != 0 || !real::is_libc()) {
            memcpy(to, from, bytes);
            return true;
        }
        const pages inside = pages_of(from, bytes);
        char* const source = static_cast<char*>(from);
        char* const target = static_cast<char*>(to);
        const std::size_t before = static_cast<std::size_t>(inside.first - source);
        const int error = errno;
        if (mremap(inside.first, inside.bytes, inside.bytes, MREMAP_MAYMOVE | MREMAP_FIXED | keep_source,
                   target + before) == MAP_FAILED) {
            // The kernel may have unmapped the target before it refused. With EEXIST it has not.
            const bool is_there =
                map_at(reinterpret_cast<std::uintptr_t>(target + before), inside.bytes, PROT_READ | PROT_WRITE) ||
                errno == EEXIST;
            errno = error;
            if (is_there) memcpy(to, from, bytes);
            return is_there;
        }
        memcpy(to, from, before);
        memcpy(target + before + inside.bytes, inside.first + inside.bytes, bytes - before - inside.bytes);
        errno = error;
        return true;
    }

  private:
    static constexpr int keep_source = 4;  // MREMAP_DONTUNMAP, since Linux 5.7; the headers may be older

    struct pages {
        char* first;
        std::size_t bytes;
    };

    // Returns the whole pages of a block of at least one page.
    [[nodiscard]] static pages pages_of(void* block, std::size_t bytes) noexcept {
        const std::size_t page_bytes = os::pages::size();
        const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(block)) % page_bytes;
        return {static_cast<char*>(block) + before, bytes < before ? 0 : (bytes - before) / page_bytes * page_bytes};
    }
    [[nodiscard]] static bool discard(pages inside) noexcept {
        const int before = errno;
        const bool is_done = madvise(inside.first, inside.bytes, MADV_DONTNEED) == 0;
        errno = before;
        return is_done;
    }
};

}  // namespace millpond::preload
