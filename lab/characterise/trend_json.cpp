// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/trend_json.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace millpond::characterise {
namespace {

constexpr std::size_t trends_max = 50;

void add_rate(json& to, const trend_estimate& estimate, double minutes) {
    to["bytes_per_minute"] = estimate.slope / minutes;
    to["interval"] = json::array({estimate.low / minutes, estimate.high / minutes});
}

}  // namespace

json trend_json(const characterisation& from) {
    const live_trend* const trend = from.trend();
    if (trend == nullptr) return program::json_object({{"why_null", from.why_no_trend()}});
    constexpr double ns_per_minute = 60e9;
    const double minutes = static_cast<double>(trend->span_ticks()) / from.ticks_per_ns() / ns_per_minute;
    json all = program::json_object({{"why_null", nullptr}, {"minutes", minutes}});
    add_rate(all, trend->whole(), minutes);
    std::vector<std::uint32_t> numbers = from.order();
    std::stable_sort(numbers.begin(), numbers.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::abs(trend->subsystem(a).slope) > std::abs(trend->subsystem(b).slope);
    });
    numbers.resize(std::min(numbers.size(), trends_max));
    all["rows"] = json::array();
    for (const std::uint32_t s : numbers) {
        json row = program::json_object({{"subsystem", from.subsystems().subsystems()[s].name}});
        add_rate(row, trend->subsystem(s), minutes);
        all["rows"].push_back(std::move(row));
    }
    return all;
}

}  // namespace millpond::characterise
