// SPDX-License-Identifier: BSL-1.0
// pinned_pages: the pages that one subsystem's survivors keep, although other subsystems have freed their objects
// there.
//
//   a page at the peak    │aaa│b│aaaaa│bb│      of a later moment, when all a have died:
//   the same page later   │   │b│     │bb│      b keeps the page; the bytes of a on it are dead
//
// It compares two moments: the one with most bytes live, and the later one at which live objects fill the least of
// their pages. A moment is a survey of pages. The dead bytes of a page are divided among its survivors in proportion to
// their bytes. Use: add() after each survey, then pairs(). Memory: two surveys. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/characterise/page_survey.hpp"

namespace millpond::characterise {

struct pinned_pair {
    std::uint32_t by, of;  // subsystems
    double bytes;
    std::uint64_t pages;
};

class pinned_pages {
  public:
    void add(const page_survey& survey, std::uint64_t tick, std::uint64_t live_bytes);

    // Returns the pairs, largest first; empty if no moment lies after the peak.
    std::vector<pinned_pair> pairs() const;
    std::uint64_t peak_tick() const { return peak_ ? peak_->tick : 0; }
    std::uint64_t later_tick() const { return later_ ? later_->tick : 0; }

  private:
    struct moment {
        page_survey survey;
        std::uint64_t tick, live_bytes;
        double waste;
    };

    std::optional<moment> peak_, later_;
};

}  // namespace millpond::characterise
