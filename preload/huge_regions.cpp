// SPDX-License-Identifier: BSL-1.0
#include "preload/huge_regions.hpp"

#include <errno.h>
#include <sys/mman.h>

namespace millpond::preload {
namespace {

constexpr int collapse = 25;  // MADV_COLLAPSE, which older headers do not name

}  // namespace

std::size_t huge_regions::resident_pages(char* region) noexcept {
    unsigned char is_resident[region_pages_max] = {};
    if (mincore(region, region_bytes, is_resident) != 0) return 0;
    std::size_t count = 0;
    for (const unsigned char each : is_resident) count += each & 1;
    return count;
}

void huge_regions::look(char* base, std::size_t bytes) noexcept {
    const std::size_t regions = bytes / region_bytes;
    if (regions == 0) return;
    const int before = errno;
    for (int i = 0; i < 2; ++i) {
        char* const region = base + __atomic_fetch_add(&next_, 1, __ATOMIC_RELAXED) % regions * region_bytes;
        if (is_full_enough(resident_pages(region))) madvise(region, region_bytes, collapse);
    }
    errno = before;
}

}  // namespace millpond::preload
