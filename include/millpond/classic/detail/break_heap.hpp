// SPDX-License-Identifier: BSL-1.0
// break_heap: the memory of a classic allocator: one block of a region that only grows at its end, as by sbrk.
//
//   base ▼                          end ▼
//        │ taken by extend, in order    │ committed ahead by the region │ reserved
//
// It reads and writes words anywhere in the memory taken by extend, and links between places in it. Words are copied,
// never pointed to, because the same bytes hold what a program puts into its blocks.
//
// extend: O(1), and a system call where the region has to grow; if it cannot, the result is null and nothing has
// changed. Not thread-safe. Owns its region.
//
// Example:
//     millpond::detail::break_heap<millpond::classic::pointer_words, millpond::region> heap(std::size_t{1} << 30);
//     std::byte* first = heap.extend(4096);
//     heap.store(first, 7);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../heap_use.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Words, class Region>
class break_heap {
  public:
    using word = typename Words::word;
    static constexpr std::size_t page_bytes = 4096;
    static constexpr std::size_t default_limit_bytes = Region::default_limit_bytes;

    explicit break_heap(std::size_t limit_bytes) noexcept
        : region_(limit_bytes < Words::most_heap_bytes ? limit_bytes : Words::most_heap_bytes) {}

    // Returns: the start of `bytes` more, behind what was given before; null if the region has no more.
    [[nodiscard]] std::byte* extend(std::size_t bytes) noexcept {
        if (bytes > max_bytes - used_) return nullptr;
        if (base_ == nullptr) {
            base_ = static_cast<std::byte*>(region_.try_allocate(bytes, page_bytes));
            if (base_ == nullptr) return nullptr;
            given_ = bytes;
        } else if (used_ + bytes > given_) {
            given_ = region_.try_resize(base_, given_, used_ + bytes);
            if (used_ + bytes > given_) return nullptr;
        }
        used_ += bytes;
        return base_ + used_ - bytes;
    }

    // Effects: frees all that was taken; the memory stays.
    void reset() noexcept { used_ = 0; }

    // Effects: returns all memory to the system.
    void release() noexcept {
        if (base_ != nullptr) region_.deallocate(base_, given_, page_bytes);
        region_.release();
        base_ = nullptr;
        used_ = given_ = 0;
    }

    [[nodiscard]] bool contains(const void* place) const noexcept {
        return reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(base_) < used_;
    }
    [[nodiscard]] std::byte* base() const noexcept { return base_; }
    [[nodiscard]] std::byte* end() const noexcept { return base_ + used_; }
    [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }

    // Returns: the bytes used, held and mapped; the heap itself adds its blocks.
    [[nodiscard]] classic::heap_use use() const noexcept {
        classic::heap_use found;
        found.used_bytes = used_;
        found.held_bytes = region_.held_bytes();
        found.mapped_bytes = base_ != nullptr ? region_.limit_bytes() : 0;
        return found;
    }

    [[nodiscard]] static word load(const std::byte* place) noexcept {
        word value;
        std::memcpy(&value, place, sizeof value);
        return value;
    }
    static void store(std::byte* place, word value) noexcept { std::memcpy(place, &value, sizeof value); }

    [[nodiscard]] std::byte* load_link(const std::byte* place) const noexcept {
        return Words::follow(base_, load(place));
    }
    void store_link(std::byte* place, const std::byte* target) noexcept { store(place, Words::link(base_, target)); }

  private:
    Region region_;
    std::byte* base_ = nullptr;
    std::size_t used_ = 0;
    std::size_t given_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
