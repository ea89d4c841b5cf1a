// SPDX-License-Identifier: BSL-1.0
// recent_peak: the highest use in recent rounds. A caller keeps that much memory and returns the rest.
//
//   falls of use    100 │ 3 │ 4 │ 3 ║ 5 │ 3 │ 4 │ 4 ║ 3 …       ║ an epoch of four ends
//   note returns    100  100 100 100  100 100 100 100   5       the peak is forgotten after four to seven more falls
//
// Note each fall of use; memory above the result may go back to its source. Work that repeats itself, in up to four
// falls a round, then returns nothing and so allocates nothing again, and the memory of a single peak is not hoarded.
//
// note: O(1), a few instructions. A value; not thread-safe.
//
// Example:
//     millpond::detail::recent_peak peak;
//     assert(peak.note(100) == 100 && peak.note(3) == 100);
//     for (int i = 0; i < 7; ++i) peak.note(3);
//     assert(peak.note(3) == 3);
#pragma once

#include <cstddef>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class recent_peak {
  public:
    static constexpr unsigned falls_in_epoch = 4;

    // Effects: notes that use had risen to `peak` and falls now. Returns: the highest use of this epoch and the one
    // before.
    std::size_t note(std::size_t peak) noexcept {
        if (peak > in_epoch_) in_epoch_ = peak;
        const std::size_t recent = in_epoch_ > before_ ? in_epoch_ : before_;
        if (++falls_ == falls_in_epoch) {
            before_ = in_epoch_;
            in_epoch_ = 0;
            falls_ = 0;
        }
        return recent;
    }

  private:
    std::size_t in_epoch_ = 0;
    std::size_t before_ = 0;
    unsigned falls_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
