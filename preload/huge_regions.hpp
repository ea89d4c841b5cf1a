// SPDX-License-Identifier: BSL-1.0
// huge_regions: makes huge pages of those 2 MiB of a heap that are nearly all resident, and of no others.
//
//   heap   │ 2 MiB: 500 of 512 pages resident │ 2 MiB: 120 resident │ … growing ▸
//           ─▶ one huge page                     stays as it is
//
// A huge page costs what was not resident of it. It is made only where that is at most a fifteenth of what is, so the
// resident bytes of a heap, and so their peak, rise by at most 1/15: 6.7 %. What is resident is asked of the kernel
// (mincore), for blocks may be given out and never touched. A region is collapsed once (MADV_COLLAPSE, Linux 6.1) and
// not marked for huge pages: marked ones would fault in whole after they were given back. Elsewhere nothing happens.
//
// Cost: for each 2 MiB that a heap grows by, two regions are looked at in turn, one system call each, and one more,
// which copies 2 MiB, for a region that is collapsed. look may run beside everything else; errno is left as it was.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::preload {

class huge_regions {
  public:
    static constexpr std::size_t region_bytes = std::size_t{2} << 20;
    static constexpr std::size_t page_bytes = 4096;
    static constexpr std::size_t region_pages = region_bytes / page_bytes;
    // Resident bytes rise by at most one part for so many that are there.
    static constexpr std::size_t parts = 15;

    [[nodiscard]] static constexpr bool is_full_enough(std::size_t resident_pages) noexcept {
        return (region_pages - resident_pages) * parts <= resident_pages;
    }

    // The next two of the regions of a heap of `bytes` from `base` on, which is aligned to a region.
    void look(char* base, std::size_t bytes) noexcept;
    // Returns: how many pages of a region are resident; 0 where the kernel does not say.
    [[nodiscard]] static std::size_t resident_pages(char* region) noexcept;

  private:
    std::size_t next_ = 0;
};

}  // namespace millpond::preload
