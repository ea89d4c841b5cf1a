// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/phase_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lab/characterise/change_points.hpp"

namespace millpond::characterise {
namespace {

constexpr std::size_t kinds_max = 31;  // that have a value of their own

// The gain in squared residuals, per slice, where a quarter of the events become another kind.
double least_change() {
    const double moved = 0.25;
    const double left = 1 - std::sqrt(1 - moved);
    return moved + left * left;
}

}  // namespace

phase_search::phase_search(std::size_t subsystems, std::uint64_t events)
    : slice_events_(std::max<std::uint64_t>(slice_events_min, events / slices_max + 1)),
      events_of_(2 * subsystems + 1) {}

void phase_search::end_slice() {
    const auto allocated = static_cast<double>(allocated_bytes_), freed = static_cast<double>(freed_bytes_);
    slice done{{}, allocated + freed > 0 ? (allocated - freed) / (allocated + freed) / 2 : 0};
    for (const std::uint32_t kind : kinds_) {
        done.kinds.push_back({kind, events_of_[kind]});
        events_of_[kind] = 0;
    }
    slices_.push_back(std::move(done));
    kinds_.clear();
    events_ = allocated_bytes_ = freed_bytes_ = 0;
}

phase_boundaries phase_search::finish() {
    // Events of the last slice that do not fill half of it belong to the phase before them.
    const std::uint64_t slice_events = slice_events_;
    if (2 * events_ >= slice_events) end_slice();
    if (are_marked_ || slices_.size() < slices_min) return {are_marked_, {}};

    std::vector<std::uint64_t> totals(events_of_.size());
    for (const slice& each : slices_) {
        for (const kind_count& one : each.kinds) totals[one.kind] += one.events;
    }
    std::vector<std::uint32_t> order(totals.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return totals[a] > totals[b]; });
    std::vector<std::size_t> position(totals.size(), kinds_max);
    for (std::size_t i = 0; i < std::min(kinds_max, order.size()); ++i) position[order[i]] = i;

    observation_series series{kinds_max + 2, std::vector<double>(slices_.size() * (kinds_max + 2))};
    for (std::size_t i = 0; i < slices_.size(); ++i) {
        double* const values = &series.values[i * series.dimensions];
        double events = 0;
        for (const kind_count& one : slices_[i].kinds) {
            values[position[one.kind]] += one.events;
            events += one.events;
        }
        for (std::size_t k = 0; k <= kinds_max; ++k) values[k] = std::sqrt(values[k] / events);
        values[kinds_max + 1] = slices_[i].growth;
    }
    const std::size_t length_min = (slices_.size() + shortest_phase - 1) / shortest_phase;
    phase_boundaries found;
    for (const std::size_t at : change_points(series, length_min, least_change() * static_cast<double>(length_min)))
        found.boundaries.push_back(at * slice_events);
    return found;
}

}  // namespace millpond::characterise
