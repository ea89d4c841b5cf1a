// SPDX-License-Identifier: BSL-1.0
// resident: what this process has in memory, by the kernel's account (/proc/self/status).
//
//   VmHWM ─ the most resident bytes since reset_peak     RssFile, RssShmem ─ mapped files, now
//   VmRSS ─ all resident bytes, now                      RssAnon ─ everything else, now
//
// The peak is the kernel's own, not a sample: it is kept whenever memory is given back. Unlike ru_maxrss it does not
// carry over what the process that started us had. Counters of the kernel lag by some tens of pages a processor. No
// malloc. O(1).
#pragma once

#include <cstdint>

namespace millpond::measure {

struct resident {
    std::uint64_t now_bytes = 0, peak_bytes = 0, file_bytes = 0, anonymous_bytes = 0;
};

// Zeros where the system does not say.
resident resident_now() noexcept;
// From now on the peak counts anew, where the kernel allows it.
void reset_peak() noexcept;
// What could still be had without swapping; 0: unknown.
std::uint64_t available_bytes() noexcept;

}  // namespace millpond::measure
