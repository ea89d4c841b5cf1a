// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/sample_json.hpp"

#include <cmath>
#include <string>

#include "lab/program/json.hpp"

namespace millpond::characterise {
namespace {

// Whole numbers, rounded outward. No double below 2^63 is rounded up to it.
json interval_json(const weighted_sum& sum, double unseen) {
    constexpr double most = 9.2e18;
    const estimate_interval ends = sum.interval(unseen);
    return json::array({static_cast<std::uint64_t>(std::floor(std::min(ends.low, most))),
                        static_cast<std::uint64_t>(std::ceil(std::min(ends.high, most)))});
}

json intervals_json(const estimated_objects& of, const sample_estimates& estimates) {
    const double objects = estimates.unseen_objects(), bytes = estimates.unseen_bytes();
    return program::json_object({{"events", interval_json(of.events, 2 * objects)},
                                 {"allocations", interval_json(of.allocations, objects)},
                                 {"frees", interval_json(of.frees, objects)},
                                 {"reallocations", interval_json(of.reallocations, objects)},
                                 {"bytes", interval_json(of.bytes, bytes)},
                                 {"end_live_bytes", interval_json(of.live_bytes, bytes)},
                                 {"end_live_objects", interval_json(of.live_objects, objects)},
                                 {"peak_live_bytes", interval_json(of.peak_bytes, bytes)},
                                 {"peak_live_objects", interval_json(of.peak_objects, objects)}});
}

json lifetime_intervals_json(const weighted_lifetimes& lifetimes) {
    json all;
    for (const auto& [name, share] : {std::pair{"p10", 0.1}, std::pair{"p50", 0.5}, std::pair{"p90", 0.9}}) {
        const weighted_lifetimes::quantile_interval ends = lifetimes.interval(share);
        all[name] = json::array({ends.low * 1e-9, ends.high ? json(*ends.high * 1e-9) : json()});
    }
    return all;
}

}  // namespace

void add_estimates(json& one, const characterisation& all, std::uint32_t subsystem) {
    const sample_estimates* const estimates = all.estimates();
    if (estimates == nullptr) return;
    const estimated_subsystem& s = estimates->subsystems()[subsystem];
    one["sampled_objects"] = s.sampled;
    one["intervals"] = intervals_json(s, *estimates);
    one["lifetimes"]["intervals"] = lifetime_intervals_json(s.lifetimes);
    for (const char* letter : {"D", "V", "L", "U", "C"})
        one["dvluc"][letter] = program::json_object({{"value", nullptr},
                                                     {"kind", "estimated"},
                                                     {"absolute", nullptr},
                                                     {"why_null", "the trace is a sample of the allocations"}});
    for (const char* unknown : {"effective_sizes", "operation_seconds", "free_seconds", "W", "N", "first_empty_seconds",
                                "empty_from_seconds"})
        one[unknown] = nullptr;
    one["legality"] = json::array();
    one["diffusion"] = json::array();
    std::size_t at = 0;
    for (json& context : one["top_contexts"]) {
        const estimated_context& from = estimates->contexts()[all.contexts(subsystem)[at++]];
        context["intervals"] =
            program::json_object({{"allocations", interval_json(from.objects, estimates->unseen_objects())},
                                  {"bytes", interval_json(from.bytes, estimates->unseen_bytes())}});
    }
}

void add_estimates(json& all, const characterisation& from) {
    const sample_estimates* const estimates = from.estimates();
    if (estimates == nullptr) return;
    all["trace"]["sampled_objects"] = estimates->whole().sampled;
    all["trace"]["intervals"] = intervals_json(estimates->whole(), *estimates);
    all["heat_map"] = nullptr;
    all["pins"] = nullptr;
    constexpr double seldom = 3.7;  // -ln 0.025
    all["notes"] = json::array(
        {"the trace is a sample: one byte in " + std::to_string(estimates->interval_bytes()) +
             " was chosen, and the blocks that hold one were recorded; all figures are estimates for all blocks",
         "intervals are 95 % intervals of one figure each",
         "a peak is the highest estimate of live bytes: it tends to be too high, and its interval is that of the live "
         "bytes at that moment",
         "a subsystem that allocates less than " +
             std::to_string(static_cast<std::uint64_t>(seldom * estimates->unseen_bytes())) + " bytes may be missing",
         "phases, patterns, pages, legality and dimensions need every event: record without --sample"});
    if (estimates->cut_tick() != 0)
        all["notes"].push_back(
            "the trace is a ring: counts are those since its cut, blocks from before it are live there");
}

void add_estimates(json& tree, const characterisation& from, const std::vector<std::uint32_t>& nodes) {
    const sample_estimates* const estimates = from.estimates();
    if (estimates == nullptr) return;
    const double objects = estimates->unseen_objects(), bytes = estimates->unseen_bytes();
    json intervals = json::array();
    for (const std::uint32_t node : nodes) {
        const estimated_context& one = estimates->contexts()[node];
        json ends = interval_json(one.bytes, bytes);
        for (const json& end : interval_json(one.live_bytes, bytes)) ends.push_back(end);
        intervals.push_back(std::move(ends));
    }
    const weighted_sum nothing;
    tree["intervals"] = std::move(intervals);
    tree["unseen"] = json::array({interval_json(nothing, objects)[1], interval_json(nothing, bytes)[1]});
}

}  // namespace millpond::characterise
