// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/subsystem_json.hpp"

#include <algorithm>
#include <cmath>

#include "lab/characterise/dvluc.hpp"
#include "preload/word_position.hpp"

namespace millpond::characterise {
namespace {

constexpr std::size_t top_contexts = 3;

json lifetimes_json(const subsystem_counts& s) {
    const auto at = [&](double share) {
        return s.lifetimes_ns.count() > 0 ? json(static_cast<double>(s.lifetimes_ns.percentile(share)) * 1e-9) : json();
    };
    json bins = json::array();
    const std::vector<std::uint64_t> octaves = s.lifetimes_ns.octaves();
    for (std::size_t i = 0; i < octaves.size(); ++i) {
        if (octaves[i] > 0) bins.push_back({{"below_ns_log2", i}, {"count", octaves[i]}});
    }
    return {{"p10", at(0.1)}, {"p50", at(0.5)}, {"p90", at(0.9)}, {"max", at(1)}, {"histogram", std::move(bins)}};
}

json sizes_json(const subsystem_counts& s) {
    json sizes = json::array();
    for (std::size_t i = 0; i < s.sizes.size(); ++i) {
        if (s.sizes[i] > 0) sizes.push_back({{"bytes", size_class_bytes(i)}, {"count", s.sizes[i]}});
    }
    return sizes;
}

json diffusion_json(const characterisation& all, const subsystem_counts& s) {
    json points = json::array();
    for (const diffusion_point& point : s.diffusion) {
        const auto live = static_cast<double>(point.live_bytes);
        points.push_back({{"time_seconds", all.seconds(point.tick)},
                          {"live_bytes", point.live_bytes},
                          {"page_bytes", point.page_bytes},
                          {"ratio", live > 0 ? json(static_cast<double>(point.page_bytes) / live) : json()}});
    }
    return points;
}

json contexts_json(const characterisation& all, std::uint32_t subsystem) {
    json top = json::array();
    const subsystem_counts& s = all.counts().subsystems()[subsystem];
    for (const std::uint32_t c : all.contexts(subsystem)) {
        if (top.size() == top_contexts) break;
        const context_counts& context = all.counts().contexts()[c];
        const double share = s.bytes > 0
                                 ? share_of(static_cast<double>(context.bytes), static_cast<double>(s.bytes))
                                 : share_of(static_cast<double>(context.objects), static_cast<double>(s.objects));
        top.push_back(
            {{"share", share}, {"allocations", context.objects}, {"bytes", context.bytes}, {"stack", all.stack(c)}});
    }
    return top;
}

// The words that tell which instance an object belongs to, by call site; empty where none were sampled or found.
json owners_json(const characterisation& all, std::uint32_t subsystem) {
    json found = json::array();
    if (all.owners() == nullptr) return found;
    for (const owner_key& key : all.owners()->keys_of(subsystem))
        found.push_back(
            {{"word", preload::word_position::name(key.position)}, {"owners", key.owners}, {"samples", key.samples}});
    return found;
}

}  // namespace

json subsystem_json(const characterisation& all, std::uint32_t subsystem) {
    const subsystem_counts& s = all.counts().subsystems()[subsystem];
    const symbols::subsystem_identity& identity = all.subsystems().subsystems()[subsystem];
    dimensions measured = measure_dimensions(all, subsystem);
    json one;
    one["name"] = identity.name;
    one["kind"] = identity.kind;
    one["named"] = identity.named;
    if (identity.kind == "group") one["owners"] = identity.owners;
    one["events"] = s.events();
    one["allocations"] = s.allocations();
    one["frees"] = s.frees;
    one["reallocations"] = s.reallocations;
    one["bytes"] = s.bytes;
    one["end_live_bytes"] = s.live_bytes;
    one["end_live_objects"] = s.live_objects;
    one["peak_live_bytes"] = s.peak_bytes;
    one["peak_live_objects"] = s.peak_objects;
    one["first_seconds"] = all.seconds(s.first_tick);
    one["last_seconds"] = all.seconds(s.last_tick);
    one["lifetimes"] = lifetimes_json(s);
    one["sizes"] = sizes_json(s);
    one["effective_sizes"] = std::exp(entropy(s.sizes));
    one["contexts"] = all.contexts(subsystem).size();
    one["N"] = {{"cpu_seconds", measured.cpu_seconds}};
    one["W"] = measured.working_threads;
    one["threads"] = measured.threads;
    one["operation_seconds"] = measured.operation_seconds;
    one["free_seconds"] = measured.free_seconds;
    one["freed_by_other_threads"] = s.freed_by_others;
    one["dvluc"] = std::move(measured.dvluc);
    one["diffusion"] = diffusion_json(all, s);
    one["first_empty_seconds"] = s.first_empty_tick != 0 ? json(all.seconds(s.first_empty_tick)) : json();
    one["empty_from_seconds"] = s.live_objects == 0 ? json(all.seconds(s.last_empty_tick)) : json();
    if (json owners = owners_json(all, subsystem); !owners.empty()) one["owners"] = std::move(owners);
    one["legality"] = legality_json(all, subsystem);
    one["top_contexts"] = contexts_json(all, subsystem);
    return one;
}

}  // namespace millpond::characterise
