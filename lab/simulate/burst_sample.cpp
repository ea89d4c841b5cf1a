// SPDX-License-Identifier: BSL-1.0
// Computes the ratio of two totals over bursts, and its error.
#include "lab/simulate/burst_sample.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace millpond::simulate {
namespace {

constexpr double deviations = 1.96;  // of a 95 % interval

}  // namespace

burst_sample::burst_sample(const millpond_rules& rules, const std::vector<std::string>& descriptions)
    : rules_(rules), descriptions_(descriptions) {}

burst_sample::totals burst_sample::totals_of(const millpond_simulation* simulation) {
    totals all(millpond_simulation_size(simulation));
    const auto add = [](void* to, const millpond_count* row) {
        if (std::string_view(row->metric) == "misses")
            static_cast<std::vector<std::uint64_t>*>(to)->push_back(row->value);
    };
    for (std::size_t i = 0; i < all.size(); ++i) millpond_simulation_report(simulation, i, add, &all[i]);
    return all;
}

void burst_sample::take(const reference_batch& batch) {
    instructions_ += batch.instructions;
    if (emptied_) emptied_->take(batch);
}

void burst_sample::end_burst(const millpond_simulation* kept) {
    if (instructions_ == 0) return;  // one gap follows another
    totals now = totals_of(kept);
    burst ended{instructions_, now};
    for (std::size_t i = 0; i < before_.size(); ++i) {
        for (std::size_t row = 0; row < before_[i].size(); ++row) ended.misses[i][row] -= before_[i][row];
    }
    bursts_.push_back(std::move(ended));
    before_ = std::move(now);
    captured_ += instructions_;
    instructions_ = 0;
}

void burst_sample::skip(const millpond_simulation* kept, std::uint64_t instructions) {
    skipped_ += instructions;
    end_burst(kept);
    if (bursts_.empty()) return;  // the part before the first burst
    if (!emptied_) {
        first_misses_ = before_;
        emptied_ = std::make_unique<running_simulation>(rules_, descriptions_);
    }
    millpond_simulation_flush(emptied_->get());
}

void burst_sample::end(const millpond_simulation* kept) { end_burst(kept); }

std::optional<whole_misses> burst_sample::whole(std::size_t simulator, std::size_t row) const {
    if (bursts_.size() < 2) return std::nullopt;
    const auto count = static_cast<double>(bursts_.size());
    const auto captured = static_cast<double>(captured_), all = captured + static_cast<double>(skipped_);
    double misses = 0;
    for (const burst& each : bursts_) misses += static_cast<double>(each.misses[simulator][row]);
    const double rate = misses / captured;
    double squares = 0;
    for (const burst& each : bursts_) {
        const double difference =
            static_cast<double>(each.misses[simulator][row]) - rate * static_cast<double>(each.instructions);
        squares += difference * difference;
    }
    const double variance = (1 - captured / all) * count / (count - 1) * squares / (captured * captured);
    const double error = deviations * std::sqrt(variance) * all;
    const auto emptied =
        static_cast<double>(first_misses_[simulator][row] + totals_of(emptied_->get())[simulator][row]);
    return whole_misses{rate * all, std::max(0.0, rate * all - error), rate * all + error, emptied / captured * all};
}

}  // namespace millpond::simulate
