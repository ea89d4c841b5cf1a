// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/prepare.hpp"

#include "lab/program/json.hpp"
#include "lab/replay/preparation.hpp"
#include "lab/trace/wholeness.hpp"

namespace millpond::replay {
namespace {

using program::json;

plan::pool_choice choice_of(const prepare_request& request, const trace::reader& reader) {
    if (!request.plan.empty()) return {reader, plan::read_plan(request.plan)};
    if (request.per_subsystem) return plan::pool_choice(reader);
    return {};
}

json pools_json(const plan::pool_choice& pools) {
    json result = json::array();
    for (std::size_t i = 1; i < pools.pools().size(); ++i) {
        const plan::pool_choice::pool& p = pools.pools()[i];
        json one(program::json_object({{"name", p.name}, {"objects", p.objects}, {"shared", p.shared}}));
        if (!p.strategy.empty()) one["strategy"] = p.strategy;
        if (p.refused > 0) one["refused_other_threads"] = p.refused;
        result.push_back(one);
    }
    return result;
}

// Returns the recorded program's CPU time, including the recorder's.
double cpu_seconds(const trace::reader& reader) {
    double ns = 0;
    for (const trace::stream_record& stream : reader.streams()) ns += static_cast<double>(stream.cpu_ns);
    return ns * 1e-9;
}

}  // namespace

std::string prepare(const prepare_request& request) {
    trace::reader reader(request.trace);
    plan::pool_choice pools = choice_of(request, reader);
    script_writer script(request.script);
    preparation pass(pools, script, reader.ticks_per_ns());
    reader.for_each_batch([&](const trace::event* batch, std::size_t count) { pass.consume(batch, count); });
    trace::require_whole(request.trace, reader.damages(), request.accepts_damaged);
    const preparation_totals totals = pass.finish();
    const std::string partial = trace::partial_reason(reader.process());
    json damages = json::array();
    for (const trace::damage& d : reader.damages())
        damages.push_back(program::json_object({{"offset", d.offset}, {"what", d.what}}));
    const json summary(program::json_object({{"schema", "millpond.replay.script/1"},
                                             {"trace", request.trace},
                                             {"events", totals.events},
                                             {"records", totals.records},
                                             {"allocations", totals.allocations},
                                             {"frees", totals.frees},
                                             {"reallocations", totals.reallocations},
                                             {"peak_live_bytes", totals.peak_live_bytes},
                                             {"peak_live_objects", totals.peak_live_objects},
                                             {"end_live_bytes", totals.end_live_bytes},
                                             {"end_live_objects", totals.end_live_objects},
                                             {"unmatched", totals.unmatched},
                                             {"lost_frees", totals.lost_frees},
                                             {"mended", totals.mended},
                                             {"lost", reader.process().events_lost},
                                             {"slots", totals.slots},
                                             {"threads", totals.threads},
                                             {"span_seconds", totals.span_seconds},
                                             {"cpu_seconds", cpu_seconds(reader)},
                                             {"malloc_provider", reader.process().malloc_provider},
                                             {"pools", pools_json(pools)},
                                             {"damages", damages},
                                             {"partial", partial.empty() ? json() : json(partial)}}));
    // Names in a program may have any encoding; bytes that are not UTF-8 are replaced.
    return program::json_text(summary) + "\n";
}

}  // namespace millpond::replay
