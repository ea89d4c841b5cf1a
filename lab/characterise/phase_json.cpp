// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/phase_json.hpp"

#include <algorithm>

namespace millpond::characterise {
namespace {

constexpr std::size_t subsystems_max = 20;  // of a phase, those that allocate most

json shares_json(const characterisation& from, const phase& of) {
    std::vector<std::uint32_t> order;
    for (const std::uint32_t s : from.order()) {
        if (of.shares[s].objects > 0) order.push_back(s);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return of.shares[a].bytes > of.shares[b].bytes; });
    if (order.size() > subsystems_max) order.resize(subsystems_max);
    json all = json::array();
    for (const std::uint32_t s : order) {
        const phase_share& share = of.shares[s];
        all.push_back(program::json_object({{"name", from.subsystems().subsystems()[s].name},
                                            {"objects", share.objects},
                                            {"bytes", share.bytes},
                                            {"peak_live_bytes", share.peak_bytes},
                                            {"ended_within", share.ended_within},
                                            {"running_at_end", share.running_at_end},
                                            {"outliving", share.outliving()},
                                            {"stretch_bytes_max", share.stretch_bytes_max}}));
    }
    return all;
}

}  // namespace

json phases_json(const characterisation& from) {
    if (from.phases() == nullptr) return nullptr;
    json phases = json::array();
    for (const phase* each : from.phases()->phases()) {
        phases.push_back(
            program::json_object({{"name", each->name},
                                  {"stretches", each->stretches},
                                  {"first_event", each->first_event + 1},
                                  {"events", each->events},
                                  {"allocations", each->allocations},
                                  {"bytes", each->bytes},
                                  {"seconds", static_cast<double>(each->ticks) / from.ticks_per_ns() * 1e-9},
                                  {"begin_live_bytes", each->begin_bytes},
                                  {"end_live_bytes", each->end_bytes},
                                  {"peak_live_bytes", each->peak_bytes},
                                  {"subsystems", shares_json(from, *each)}}));
    }
    return program::json_object(
        {{"method", from.phases()->is_marked() ? "marks" : "change points"}, {"phases", std::move(phases)}});
}

}  // namespace millpond::characterise
