// SPDX-License-Identifier: BSL-1.0
// resident: this process's resident memory, as the kernel reports it (/proc/self/status).
//
//   VmHWM ─ the most resident bytes since reset_peak     RssFile, RssShmem ─ mapped files, now
//   VmRSS ─ all resident bytes, now                      RssAnon ─ everything else, now
//
// The peak is the kernel's own, not a sample: the kernel updates it whenever memory is returned. Unlike ru_maxrss it
// does not include the peak of the process that started us. The kernel's counters lag by some tens of pages a
// processor. No malloc. O(1).
#pragma once

#include <cstdint>

namespace millpond::measure {

struct resident {
    std::uint64_t now_bytes = 0, peak_bytes = 0, file_bytes = 0, anonymous_bytes = 0;
};

// Returns zeros if the system does not tell.
resident resident_now() noexcept;
// Restarts the peak from now on, if the kernel allows it.
void reset_peak() noexcept;
// Returns the memory that is available without swapping; 0: unknown.
std::uint64_t available_bytes() noexcept;

}  // namespace millpond::measure
