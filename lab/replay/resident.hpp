// SPDX-License-Identifier: BSL-1.0
// resident: what this process has in memory, by the kernel's account (/proc/self/status).
//
//   VmHWM ─ the most resident bytes since reset_peak ─┐
//   RssFile, RssShmem ─ mapped files, now            ─┴▶ peak_bytes = VmHWM − RssFile − RssShmem
//   RssAnon ─ everything else, now                   ──▶ anonymous_bytes
//
// The peak is the kernel's own, not a sample: it is kept whenever memory is given back. Unlike ru_maxrss it does not
// carry over what the process that started us had. Counters of the kernel lag by some tens of pages a processor. No
// malloc. O(1).
#pragma once

#include <cstdint>

namespace millpond::replay {

struct resident {
    std::uint64_t peak_bytes = 0, anonymous_bytes = 0;
};

// Zeros where the system does not say.
resident resident_now() noexcept;
// From now on the peak counts anew, where the kernel allows it.
void reset_peak() noexcept;
// What could still be had without swapping; 0: unknown.
std::uint64_t available_bytes() noexcept;

}  // namespace millpond::replay
