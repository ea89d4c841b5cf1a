// SPDX-License-Identifier: BSL-1.0
// line_use: counts the bytes of each cached line that were accessed since its fetch, and for whom it was fetched.
//
//   fetch ──▶ │ ▓▓▓▓········▓▓▓▓ │ accesses until it is evicted ──▶ fetched 64 bytes, useful 8
//
// A line belongs to the subject whose reference fetched it; an accessed byte counts as useful, whoever accesses it.
// Lines of more than 64 bytes are counted in sixty-fourths. O(1) a line. Memory: 48 to 96 bytes for each different
// line. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/simulate/attributed_cache.hpp"
#include "lab/simulate/known_blocks.hpp"
#include "lab/simulate/line_parts.hpp"
#include "lab/simulate/process_system.hpp"

namespace millpond::attribution {

struct line_bytes {
    std::uint64_t fetched = 0, useful = 0;
};

class line_use {
  public:
    explicit line_use(std::uint32_t line_bytes)
        : line_bytes_(line_bytes), parts_(line_bytes), lines_(simulate::process_system) {}

    // Takes a reference to the line; `outcome` says what the cache did with the line.
    void take(std::uint64_t line, const simulate::attributed_cache::line_outcome& outcome,
              const millpond_reference& r) {
        if (outcome.kind != simulate::attributed_cache::hit) [[unlikely]] {
            if (outcome.evicted != simulate::no_line) settle(lines_[outcome.evicted]);
            lines_[line] = {parts_.of(line, r), r.subject + 1};
            return;
        }
        lines_[line].used |= parts_.of(line, r);
    }

    // Also counts the lines that are still in the cache. Call take() no more afterwards.
    void finish() {
        lines_.for_each([this](std::uint64_t, state& each) { settle(each); });
    }

    line_bytes of(std::uint32_t subject) const {
        return subject < of_subject_.size() ? of_subject_[subject] : line_bytes{};
    }

  private:
    struct state {
        std::uint64_t used;
        std::uint32_t fetched_by;  // subject + 1; 0: not in the cache
    };

    void settle(state& each) {
        if (each.fetched_by == 0) return;
        const std::uint32_t subject = each.fetched_by - 1;
        if (subject >= of_subject_.size()) of_subject_.resize(subject + 1);
        of_subject_[subject].fetched += line_bytes_;
        of_subject_[subject].useful += parts_.bytes(each.used);
        each.fetched_by = 0;
    }

    std::uint64_t line_bytes_;
    simulate::line_parts parts_;
    simulate::known_blocks<state> lines_;
    std::vector<line_bytes> of_subject_;
};

}  // namespace millpond::attribution
