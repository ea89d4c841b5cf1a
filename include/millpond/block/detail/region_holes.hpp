// SPDX-License-Identifier: BSL-1.0
// region_holes: the addresses of large blocks freed in the middle of a region, kept for blocks of the same size.
//
//   │block│next, bytes┊▒▒▒▒▒▒▒ no memory ▒▒▒▒▒▒▒│block│next, bytes┊▒▒▒▒▒▒│block│        a hole keeps its first page
//          ▲ bins, one an octave ─────────────────────────▲
//
// Part of region. A pool's large blocks have few sizes, so holes of exactly the right size recur. Holes are neither cut
// nor joined, because the rests would become ever smaller.
// Holes of more than 1 MiB have any size and are few: they are kept by address, joined with their neighbours and cut.
// note: O(1). take: looks at up to 64 holes. note_wide, take_wide: O(wide holes). Not thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <new>

#include "../../core/abi.hpp"
#include "../../core/allocation.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/sanitizer.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class region_holes {
  public:
    // Smaller blocks are too many to search, and a hole of theirs would keep much of its memory.
    static constexpr std::size_t least_bytes = std::size_t{32} << 10;
    static constexpr std::size_t wide_alignment = 8;  // of wide holes and of their sizes

    // Returns: the bytes at the front of a hole that must keep their memory.
    [[nodiscard]] static std::size_t kept_bytes(const void* start) noexcept {
        return padding_to(start, alignof(hole)) + sizeof(hole);
    }

    // Effects: remembers the poisoned block, of least_bytes or more.
    void note(void* start, std::size_t bytes) noexcept {
        hole*& first = bins_[bin_of(bytes)];
        char* const place = static_cast<char*>(start) + padding_to(start, alignof(hole));
        write(place, {first, start, bytes});
        first = reinterpret_cast<hole*>(place);
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

    // Returns: true for holes that are joined and cut.
    [[nodiscard]] static constexpr bool is_wide(std::size_t bytes) noexcept { return bytes > widest_of_pools; }

    // Effects: remembers the poisoned block, which is_wide, joined with the holes around it. Returns: the joined hole.
    [[nodiscard]] allocation note_wide(char* start, std::size_t bytes) noexcept {
        hole before{wide_, nullptr, 0};
        char* place_before = nullptr;
        while (before.next != nullptr && reinterpret_cast<char*>(before.next) < start) {
            place_before = reinterpret_cast<char*>(before.next);
            before = read(place_before);
        }
        hole* next = before.next;
        if (next != nullptr && reinterpret_cast<char*>(next) == start + bytes) {
            const hole joined = read(next);
            bytes += joined.bytes;
            next = joined.next;
        }
        if (place_before != nullptr && place_before + before.bytes == start) {
            write(place_before, {next, place_before, before.bytes + bytes});
            return {place_before, before.bytes + bytes};
        }
        write(start, {next, start, bytes});
        link(place_before, before, start);
        return {start, bytes};
    }

    // Returns: a block out of the lowest hole that holds it, poisoned; or null.
    [[nodiscard]] void* take_wide(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes % wide_alignment != 0) return nullptr;  // a rest would be misaligned
        hole before{wide_, nullptr, 0};
        char* place_before = nullptr;
        while (before.next != nullptr) {
            char* const place = reinterpret_cast<char*>(before.next);
            const hole found = read(place);
            const bool is_whole = found.bytes == bytes;
            if ((is_whole || found.bytes >= bytes + sizeof(hole)) && is_aligned(place, alignment)) {
                char* const rest = place + bytes;
                if (!is_whole) write(rest, {found.next, rest, found.bytes - bytes});
                link(place_before, before, is_whole ? reinterpret_cast<char*>(found.next) : rest);
                return place;
            }
            place_before = place;
            before = found;
        }
        return nullptr;
    }

    void forget() noexcept {
        for (hole*& first : bins_) first = nullptr;
        wide_ = nullptr;
    }

  private:
    struct hole {
        hole* next;
        void* start;
        std::size_t bytes;
    };

    static constexpr std::size_t widest_of_pools = (std::size_t{1} << 20) + 4096;  // a class of a pool, and its record

    [[nodiscard]] static hole read(void* place) noexcept {
        unpoison_contents(place, sizeof(hole));
        const hole found = *static_cast<hole*>(place);
        poison(place, sizeof(hole));
        return found;
    }
    static void write(void* place, const hole& content) noexcept {
        unpoison(place, sizeof(hole));
        ::new (place) hole(content);
        poison(place, sizeof(hole));
    }
    // Effects: makes `next` the hole behind the one before, or the front of the list.
    void link(char* place_before, const hole& before, char* next) noexcept {
        auto* const following = reinterpret_cast<hole*>(next);
        if (place_before == nullptr) {
            wide_ = following;
        } else {
            write(place_before, {following, before.start, before.bytes});
        }
    }

    static_assert(alignof(hole) <= wide_alignment);

    static constexpr unsigned most_looked_at = 64;
    static constexpr unsigned bin_count = std::bit_width(widest_of_pools / least_bytes);

    // Precondition: at least least_bytes, and not wide.
    [[nodiscard]] static unsigned bin_of(std::size_t bytes) noexcept {
        return static_cast<unsigned>(std::bit_width(bytes / least_bytes)) - 1;
    }

    hole* bins_[bin_count] = {};
    hole* wide_ = nullptr;  // the lowest
};

}  // namespace millpond::inline MILLPOND_ABI::detail
