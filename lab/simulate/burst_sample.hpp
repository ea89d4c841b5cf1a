// SPDX-License-Identifier: BSL-1.0
// burst_sample: what the bursts of a sampled recording (`record --references --sample`) tell of the whole run.
//
//   burst │ gap │ burst │ gap │ …     misses and instructions of each burst ─▶ misses of the whole run, with an error
//
// Misses are in proportion to instructions: of the whole, as many times those of the bursts as it has instructions. The
// interval is that of a ratio of totals over bursts, 95 %. It knows only how bursts differ. What the caches hold at the
// start of a burst is not known either: as a rule they keep what they held at the end of the one before, and a second
// simulation begins each burst with empty caches. The truth lies between the two, so both are told.
// Twice the time of a simulation, and a number for each burst and cache.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/simulate/running_simulation.hpp"

namespace millpond::simulate {

// Misses of the whole run, in references. `with_empty_caches`: had every burst begun with empty caches.
struct whole_misses {
    double value = 0, low = 0, high = 0, with_empty_caches = 0;
};

class burst_sample {
  public:
    burst_sample(const millpond_rules& rules, const std::vector<std::string>& descriptions);

    // What was also given to `kept`, the simulation that keeps its caches.
    void take(const reference_batch& batch);
    // Behind what was taken last, so many instructions were not captured.
    void skip(const millpond_simulation* kept, std::uint64_t instructions);
    // Behind the last batch.
    void end(const millpond_simulation* kept);

    // Bursts with instructions in them.
    std::size_t bursts() const { return bursts_.size(); }
    std::uint64_t instructions_not_captured() const { return skipped_; }
    // Of row `misses` number `row` of a simulator, in the order of its report. Nothing with fewer than two bursts.
    std::optional<whole_misses> whole(std::size_t simulator, std::size_t row) const;

  private:
    using totals = std::vector<std::vector<std::uint64_t>>;  // of each simulator, its rows `misses`

    struct burst {
        std::uint64_t instructions = 0;
        totals misses;
    };

    static totals totals_of(const millpond_simulation* simulation);
    void end_burst(const millpond_simulation* kept);

    millpond_rules rules_;
    std::vector<std::string> descriptions_;
    std::unique_ptr<running_simulation> emptied_;  // from the end of the first burst on
    std::vector<burst> bursts_;
    totals before_;        // at the end of the last burst
    totals first_misses_;  // of the first burst, which begins with empty caches in either case
    std::uint64_t instructions_ = 0, skipped_ = 0, captured_ = 0;
};

}  // namespace millpond::simulate
