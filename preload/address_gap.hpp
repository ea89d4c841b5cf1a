// SPDX-License-Identifier: BSL-1.0
// address_gap: finds a gap of free addresses that neither the kernel nor the program uses by itself, and maps memory
// there step by step. Nothing is reserved, so limits on addresses and data count only what is used, also limits that
// the program sets later.
//
// It never replaces a mapping that lies in the way. All functions are thread-safe; errno gives the reason of a failure.
#pragma once

#include <errno.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace millpond::preload {

// Maps [at, at + bytes). If anything lies there already it maps nothing, and errno gives the reason. Kernels before
// 4.17 take the address as a hint.
inline bool map_at(std::uintptr_t at, std::size_t bytes, int protection) noexcept {
    const int reserve = protection == PROT_NONE ? MAP_NORESERVE : 0;
    void* const wanted = reinterpret_cast<void*>(at);
    void* const got =
        mmap(wanted, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | reserve, -1, 0);
    if (got == wanted) return true;
    if (got == MAP_FAILED) return false;
    munmap(got, bytes);
    errno = EEXIST;
    return false;
}

// Returns whether nothing is mapped there; it leaves nothing behind.
inline bool is_free(std::uintptr_t at, std::size_t bytes) noexcept {
    if (!map_at(at, bytes, PROT_NONE)) return false;
    munmap(reinterpret_cast<void*>(at), bytes);
    return true;
}

// Calls try_at(start) for the starts of gaps that most likely have `bytes` free addresses, until it returns true. Each
// start is aligned to a huge page, so that the place of a heap in a cache does not depend on other mappings. Returns:
// true if a call did.
template <class Try>
bool in_some_gap(std::size_t bytes, Try&& try_at) noexcept {
    // Far addresses are not used in 32-bit programs, which have none, or under ThreadSanitizer. That keeps addresses
    // far below the last mapping for itself: it drops the wanted address, and the kernel then maps address 0 if the
    // user may do that.
#ifdef __SANITIZE_THREAD__
    constexpr bool far_addresses_are_free = false;
#else
    constexpr bool far_addresses_are_free = sizeof(void*) == 8;
#endif
    constexpr std::uintptr_t huge_page_bytes = std::uintptr_t{2} << 20;
    const auto try_from = [&try_at](std::uintptr_t start) {
        return try_at((start + huge_page_bytes - 1) & ~(huge_page_bytes - 1));
    };
    constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40;
    constexpr std::size_t some_bytes = std::size_t{64} << 10;
    constexpr int unused = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const near = mmap(nullptr, some_bytes, PROT_NONE, unused, -1, 0);
    if (near == MAP_FAILED) return false;
    munmap(near, some_bytes);
    // The kernel fills the addresses below the last mapping from above or, in the older order, those behind it from
    // below. In both cases the addresses some TiB below the next mapping stay free for long.
    for (std::uint64_t distance = 8 * tebibyte; far_addresses_are_free && distance >= 2 * tebibyte; distance /= 2)
        if (reinterpret_cast<std::uintptr_t>(near) > distance + tebibyte &&
            try_from(static_cast<std::uintptr_t>(reinterpret_cast<std::uintptr_t>(near) - distance)))
            return true;
    // A fallback if these are taken: the middle of any gap that the kernel has for twice as much.
    const std::size_t whole = 2 * bytes + bytes / 2;
    void* const gap = mmap(nullptr, whole, PROT_NONE, unused, -1, 0);
    if (gap == MAP_FAILED) return false;
    munmap(gap, whole);
    return try_from(reinterpret_cast<std::uintptr_t>(gap) + bytes / 2);
}

}  // namespace millpond::preload
