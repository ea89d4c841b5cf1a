// SPDX-License-Identifier: BSL-1.0
// heap_region: the region of a library's only heap; it tells whether a block lies in the heap.
//
//   … mappings of the program │ free addresses │ heap ─▶ grows, step by step │ free addresses │ mappings …
//
// Its addresses are only chosen, not reserved (address_gap), so a program that limits its addresses runs as without the
// library. A classic allocator takes one block of its region and lets it grow, so the heap lies between that block's
// start and the region's limit. Both are known from the first block on and never change: contains takes no lock. The
// region is for one thread at a time, as its heap is; contains for any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millpond/block/region.hpp"
#include "millpond/os/pages.hpp"
#include "preload/address_gap.hpp"

namespace millpond::preload {

// The pages of a region that lives as long as the process. Keeps errno, as os::pages does.
struct gap_pages : os::pages {
    [[nodiscard]] static void* reserve(std::size_t bytes) noexcept {
        const int before = errno;
        std::uintptr_t found = 0;
        in_some_gap(bytes, [&](std::uintptr_t start) {
            start = (start + size() - 1) & ~(size() - 1);
            // Under a limit of addresses the kernel refuses the whole range although it is free.
            if (is_free(start, bytes) || (errno == ENOMEM && is_free(start, size()))) found = start;
            return found != 0;
        });
        errno = before;
        return reinterpret_cast<void*>(found);
    }
    [[nodiscard]] static bool commit(void* at, std::size_t bytes) noexcept {
        const int before = errno;
        const bool is_mapped = map_at(reinterpret_cast<std::uintptr_t>(at), bytes, PROT_READ | PROT_WRITE);
        errno = before;
        return is_mapped;
    }
    [[nodiscard]] static bool decommit(void* at, std::size_t bytes) noexcept { return munmap(at, bytes) == 0; }
    // Does nothing: addresses that were never reserved may belong to another mapping by now.
    static void release(void*, std::size_t) noexcept {}
};

class heap_region : public basic_region<gap_pages> {
    using base = basic_region<gap_pages>;

  public:
    using base::base;

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        void* const block = base::try_allocate(bytes, alignment);
        if (block != nullptr) {
            __atomic_store_n(&start_, reinterpret_cast<std::uintptr_t>(block), __ATOMIC_RELAXED);
            __atomic_store_n(&bytes_, limit_bytes(), __ATOMIC_RELEASE);
        }
        return block;
    }

    // Returns: whether the heap of this library may have given out this address.
    [[nodiscard, gnu::always_inline]] static bool contains(const void* p) noexcept {
        const std::size_t bytes = __atomic_load_n(&bytes_, __ATOMIC_ACQUIRE);
        return reinterpret_cast<std::uintptr_t>(p) - __atomic_load_n(&start_, __ATOMIC_RELAXED) < bytes;
    }

  private:
    static constinit inline std::uintptr_t start_ = 0;
    static constinit inline std::size_t bytes_ = 0;
};

}  // namespace millpond::preload
