// SPDX-License-Identifier: BSL-1.0
// followed_blocks: the addresses of the blocks that a sampled recording follows. Nearly every free learns from one load
// that its block is not followed.
//
//   free(p) ─▶ marks[p / 1 KiB mod 2^20] ──0─▶ not followed: the usual answer, near the marks of p's neighbours
//                          └──n─▶ sets of 8 addresses, by a hash ─▶ first level │ four times as many │ … only if full
//
// A mark counts the followed blocks in its KiB of addresses (and in those 1 GiB away); 255 stays. A free that meets one
// looks through a set in each level that is in use: one, until some hundred blocks of a thousand are followed at once.
// A removed address leaves an empty place, so nothing has to be moved or rehashed, and there is no lock: a signal
// handler may interrupt any function. An object with constant initialisation that is never destroyed; 1 MiB that is
// touched as the heap is, and 32 KiB. Further levels are mapped when they are needed, and stay.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/pages.hpp"

namespace millpond::record {

class followed_blocks {
  public:
    constexpr followed_blocks() = default;
    followed_blocks(const followed_blocks&) = delete;
    followed_blocks& operator=(const followed_blocks&) = delete;

    // False: `p` is not followed. One load.
    [[nodiscard, gnu::always_inline]] bool may_have(const void* p) const noexcept {
        return __atomic_load_n(&marks_[mark_of(p)], __ATOMIC_RELAXED) != 0;
    }

    // Follows a block that is alive and not followed yet. False if there is no place: every set for it is full, and
    // `may_map` is false or no memory can be mapped for a further level.
    bool insert(const void* p, bool may_map) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        for (unsigned number = 0; number < levels_max; ++number) {
            std::uintptr_t* const set = set_in(number, address, may_map);
            if (set == nullptr) return false;
            for (unsigned i = 0; i < set_size; ++i) {
                std::uintptr_t empty = 0;
                if (!__atomic_compare_exchange_n(&set[i], &empty, address, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                    continue;
                count(marks_[mark_of(p)], 1);
                return true;
            }
        }
        return false;
    }

    // Stops following a block; false if it was not followed. Call it before the block is freed, because another thread
    // may be given its address at once.
    bool remove(const void* p) noexcept {
        if (!may_have(p)) return false;
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        for (unsigned number = 0; number < levels_max; ++number) {
            std::uintptr_t* const set = set_in(number, address, false);
            if (set == nullptr) return false;
            for (unsigned i = 0; i < set_size; ++i) {
                std::uintptr_t found = address;
                if (!__atomic_compare_exchange_n(&set[i], &found, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                    continue;
                count(marks_[mark_of(p)], -1);
                return true;
            }
        }
        return false;
    }

    // Stops following the blocks that it follows now. O(places).
    void clear() noexcept {
        for (unsigned number = 0; number < levels_max; ++number) {
            const std::uintptr_t* const first =
                number == 0 ? first_level_ : __atomic_load_n(&further_[number], __ATOMIC_ACQUIRE);
            if (first == nullptr) return;
            for (std::size_t i = 0; i < std::size_t{set_size} << (first_sets_log2 + growth_log2 * number); ++i) {
                const std::uintptr_t address = __atomic_load_n(&first[i], __ATOMIC_RELAXED);
                if (address != 0) remove(reinterpret_cast<const void*>(address));
            }
        }
    }

  private:
    static constexpr unsigned mark_log2 = 10, marks_log2 = 20;  // bytes of a mark, marks
    static constexpr unsigned set_size = 8, first_sets_log2 = 9, growth_log2 = 2, levels_max = 9;
    static constexpr std::uint8_t many = 255;  // a mark that is not lowered any more

    static std::size_t mark_of(const void* p) noexcept {
        return reinterpret_cast<std::uintptr_t>(p) >> mark_log2 & ((std::size_t{1} << marks_log2) - 1);
    }

    static void count(std::uint8_t& mark, int by) noexcept {
        std::uint8_t now = __atomic_load_n(&mark, __ATOMIC_RELAXED);
        while (now != many && !__atomic_compare_exchange_n(&mark, &now, static_cast<std::uint8_t>(now + by), true,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    }

    // Returns the set of an address in a level; null if the level is not in use and cannot be mapped.
    std::uintptr_t* set_in(unsigned number, std::uintptr_t address, bool may_map) noexcept {
        const unsigned sets_log2 = first_sets_log2 + growth_log2 * number;
        std::uintptr_t* first = number == 0 ? first_level_ : __atomic_load_n(&further_[number], __ATOMIC_ACQUIRE);
        if (first == nullptr && may_map)
            first = map(number, std::size_t{set_size * sizeof(std::uintptr_t)} << sets_log2);
        if (first == nullptr) return nullptr;
        const std::uint64_t mixed = (std::uint64_t{address} >> 4) * 0x9E3779B97F4A7C15u;
        return first + set_size * static_cast<std::size_t>(mixed >> (64 - sets_log2));
    }

    std::uintptr_t* map(unsigned number, std::size_t bytes) noexcept {
        auto* const fresh = preload::take_pages<std::uintptr_t>(bytes);
        std::uintptr_t* there = nullptr;
        if (fresh == nullptr ||
            __atomic_compare_exchange_n(&further_[number], &there, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return fresh;
        preload::give_pages(fresh, bytes);  // another thread was faster
        return there;
    }

    std::uint8_t marks_[std::size_t{1} << marks_log2] = {};
    std::uintptr_t first_level_[std::size_t{set_size} << first_sets_log2] = {};
    std::uintptr_t* further_[levels_max] = {};
};

}  // namespace millpond::record
