// SPDX-License-Identifier: BSL-1.0
// huge_regions: makes huge pages of those 2 MiB of a heap that are nearly all resident, and of no others.
//
//   heap   │ 2 MiB: 500 of 512 pages resident │ 2 MiB: 120 resident │ … growing ▸
//           ─▶ one huge page                     stays as it is
//
// A huge page costs the part of it that was not resident. It is made only if that is at most a fifteenth of the
// resident part, so the resident bytes of a heap, and their peak, rise by at most 1/15: 6.7 %. The kernel reports
// residency (mincore), because blocks may be given out and never touched. A region is collapsed once (MADV_COLLAPSE,
// Linux 6.1) and not marked for huge pages: marked ones would fault in whole after they were given back. On older
// systems nothing happens.
//
// Cost: for each 2 MiB of heap growth, it examines two regions in turn, with one system call each, and one more, which
// copies 2 MiB, for a region that is collapsed. look may run at the same time as everything else; it leaves errno as it
// was.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millpond/os/pages.hpp"
#include "preload/machine.hpp"

namespace millpond::preload {

class huge_regions {
  public:
    static constexpr std::size_t region_bytes = std::size_t{2} << 20;
    static constexpr std::size_t region_pages_max = region_bytes / machine::page_bytes_least;
    // Resident bytes rise by at most 1/parts.
    static constexpr std::size_t parts = 15;

    [[nodiscard]] static std::size_t region_pages() noexcept { return region_bytes / os::pages::size(); }
    [[nodiscard]] static bool is_full_enough(std::size_t resident_pages) noexcept {
        return (region_pages() - resident_pages) * parts <= resident_pages;
    }

    // Examines the next two regions of a heap of `bytes` from `base` on, which is aligned to a region.
    void look(char* base, std::size_t bytes) noexcept;
    // Returns: the number of resident pages of a region; 0 if the kernel does not tell.
    [[nodiscard]] static std::size_t resident_pages(char* region) noexcept;

  private:
    std::size_t next_ = 0;
};

}  // namespace millpond::preload
