// SPDX-License-Identifier: BSL-1.0
// region_holes: the addresses of large blocks that came back to a region from its middle, for blocks of the same size.
//
//   │block│next, bytes┊▒▒▒▒▒▒▒ no memory ▒▒▒▒▒▒▒│block│next, bytes┊▒▒▒▒▒▒│block│        a hole keeps its first page
//          ▲ bins, one an octave ─────────────────────────▲
//
// Part of region. A pool's large blocks have few sizes, so holes of exactly the size that is asked for are there again
// and again; holes are neither cut nor joined, or what is left of them would shrink to nothing.
// note: O(1). take: up to 64 holes are looked at. Not thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <new>

#include "../core/alignment.hpp"
#include "../core/sanitizer.hpp"

namespace millpond {

class region_holes {
  public:
    // Smaller blocks are too many to look through, and a hole of theirs would keep much of its memory.
    static constexpr std::size_t least_bytes = std::size_t{32} << 10;

    // Returns: the bytes at the front of a hole that must keep their memory.
    [[nodiscard]] static std::size_t kept_bytes(const void* start) noexcept {
        return padding_to(start, alignof(hole)) + sizeof(hole);
    }

    // Effects: remembers the poisoned block, of least_bytes or more.
    void note(void* start, std::size_t bytes) noexcept {
        hole*& first = bins_[bin_of(bytes)];
        char* const place = static_cast<char*>(start) + padding_to(start, alignof(hole));
        unpoison(place, sizeof(hole));
        first = ::new (place) hole{first, start, bytes};
        poison(place, sizeof(hole));
    }

    // Returns: a hole of exactly so many bytes with that alignment, poisoned and no longer remembered; or null.
    [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes < least_bytes) return nullptr;
        hole** place = &bins_[bin_of(bytes)];
        hole* before = nullptr;
        for (unsigned looked_at = 0; *place != nullptr && looked_at < most_looked_at; ++looked_at) {
            hole* const at = *place;
            unpoison_contents(at, sizeof(hole));
            const hole found = *at;
            if (found.bytes == bytes && is_aligned(found.start, alignment)) {
                *place = found.next;
                poison(at, sizeof(hole));
                if (before != nullptr) poison(before, sizeof(hole));
                return found.start;
            }
            if (before != nullptr) poison(before, sizeof(hole));
            before = at;
            place = &at->next;
        }
        if (before != nullptr) poison(before, sizeof(hole));
        return nullptr;
    }

    void forget() noexcept {
        for (hole*& first : bins_) first = nullptr;
    }

  private:
    struct hole {
        hole* next;
        void* start;
        std::size_t bytes;
    };

    static constexpr unsigned most_looked_at = 64;
    static constexpr unsigned bin_count = 24;

    [[nodiscard]] static unsigned bin_of(std::size_t bytes) noexcept {
        const auto bin = static_cast<unsigned>(std::bit_width(bytes / least_bytes)) - 1;
        return bin < bin_count ? bin : bin_count - 1;
    }

    hole* bins_[bin_count] = {};
};

}  // namespace millpond
