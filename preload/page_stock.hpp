// SPDX-License-Identifier: BSL-1.0
// page_stock: zeroed pages for the data of each thread of a process, from a few large mappings.
//
//   take(bytes) ─▶ a free block of that class ─▶ the end of the latest region ─▶ a new region, twice as large
//                  (classes: 4 an octave, a page to 1 MiB)                        (512 KiB to 64 MiB)
//
// Use it if thousands of threads need pages each: a mapping for each would soon exceed the kernel's limit for a process
// (vm.max_map_count, 65 530 by default). Larger blocks are mapped by themselves. Blocks that come back return their
// pages to the system and serve again; addresses stay until clear().
//
// Thread-safe. A lock that cannot be taken (its holder was interrupted by a signal handler on the same thread, or a
// fork left it behind) costs a mapping, never an endless wait. Leaves errno as it was.
#pragma once

#include <cstddef>

#include "preload/holder_lock.hpp"

namespace millpond::preload {

class page_stock {
  public:
    constexpr page_stock() noexcept = default;
    page_stock(const page_stock&) = delete;
    page_stock& operator=(const page_stock&) = delete;

    // Returns null if there is no memory.
    template <class T = void>
    [[nodiscard]] T* take(std::size_t bytes) noexcept {
        return static_cast<T*>(take_block(bytes));
    }
    // `bytes`: the size taken. Null is allowed and does nothing.
    void give(void* p, std::size_t bytes) noexcept;
    // Returns the first byte of the latest region; null: none. It begins with the address of the one before, and its
    // bytes; so another process can find all of them.
    [[nodiscard]] const void* latest_region() const noexcept { return regions_; }
    // Unmaps all regions. No block may be in use, and no other thread inside.
    void clear() noexcept;

  private:
    static constexpr unsigned class_count = 28;
    static constexpr std::size_t largest = std::size_t{1} << 20;
    static constexpr std::size_t region_bytes_min = std::size_t{512} << 10, region_bytes_max = std::size_t{64} << 20;

    struct region {
        region* before;
        std::size_t bytes;
    };
    struct block {
        block* next;
    };
    // The number of the class for `bytes` up to `largest`, and the size of its blocks.
    struct size_class {
        unsigned number;
        std::size_t bytes;
    };

    static size_class class_of(std::size_t bytes) noexcept;
    void* take_block(std::size_t bytes) noexcept;
    std::byte* cut(std::size_t bytes) noexcept;
    bool lock() noexcept;

    holder_lock lock_;
    block* free_[class_count] = {};
    region* regions_ = nullptr;  // each begins with its record
    std::byte* next_ = nullptr;
    std::byte* past_ = nullptr;
};

}  // namespace millpond::preload
