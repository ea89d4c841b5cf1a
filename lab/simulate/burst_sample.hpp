// SPDX-License-Identifier: BSL-1.0
// burst_sample: estimates the whole run from the bursts of a sampled recording (`record --references --sample`).
//
//   burst │ gap │ burst │ gap │ …     misses and instructions of each burst ─▶ misses of the whole run, with an error
//
// The bursts' misses are scaled by the ratio of instructions: whole run / bursts. The 95 % interval is that of a ratio
// of totals over bursts; it covers only the differences between bursts. The contents of the caches at the start of a
// burst are also unknown. Usually they keep what they held at the end of the burst before; a second simulation begins
// each burst with empty caches. The truth lies between the two, so both are reported.
// Cost: twice the time of a simulation, and a number for each burst and cache.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/simulate/running_simulation.hpp"

namespace millpond::simulate {

// Misses of the whole run, in references. `with_empty_caches`: the estimate if every burst began with empty caches.
struct whole_misses {
    double value = 0, low = 0, high = 0, with_empty_caches = 0;
};

class burst_sample {
  public:
    burst_sample(const millpond_rules& rules, const std::vector<std::string>& descriptions);

    // Takes a batch that `kept`, the simulation that keeps its caches, has also taken.
    void take(const reference_batch& batch);
    // Notes that this many instructions after the last batch were not captured.
    void skip(const millpond_simulation* kept, std::uint64_t instructions);
    // Call after the last batch.
    void end(const millpond_simulation* kept);

    // Returns the number of bursts with instructions in them.
    std::size_t bursts() const { return bursts_.size(); }
    std::uint64_t instructions_not_captured() const { return skipped_; }
    // Returns the estimate for row `misses` number `row` of a simulator, in the order of its report; nothing if there
    // are fewer than two bursts.
    std::optional<whole_misses> whole(std::size_t simulator, std::size_t row) const;

  private:
    using totals = std::vector<std::vector<std::uint64_t>>;  // for each simulator, its rows `misses`

    struct burst {
        std::uint64_t instructions = 0;
        totals misses;
    };

    static totals totals_of(const millpond_simulation* simulation);
    void end_burst(const millpond_simulation* kept);

    millpond_rules rules_;
    std::vector<std::string> descriptions_;
    std::unique_ptr<running_simulation> emptied_;  // from the end of the first burst
    std::vector<burst> bursts_;
    totals before_;        // at the end of the last burst
    totals first_misses_;  // of the first burst, which begins with empty caches in both simulations
    std::uint64_t instructions_ = 0, skipped_ = 0, captured_ = 0;
};

}  // namespace millpond::simulate
