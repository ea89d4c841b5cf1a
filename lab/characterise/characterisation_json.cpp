// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/characterisation_json.hpp"

#include <algorithm>

#include "lab/characterise/container_list.hpp"
#include "lab/characterise/freeing_list.hpp"
#include "lab/characterise/module_debug.hpp"
#include "lab/characterise/nameless_modules.hpp"
#include "lab/characterise/pattern_json.hpp"
#include "lab/characterise/phase_json.hpp"
#include "lab/characterise/reference_json.hpp"
#include "lab/characterise/sample_json.hpp"
#include "lab/characterise/subsystem_json.hpp"
#include "lab/characterise/trend_json.hpp"
#include "lab/trace/wholeness.hpp"

namespace millpond::characterise {
namespace {

constexpr const char* schema = "millpond.characterisation/1";
constexpr std::size_t pairs_max = 100;

json window_json(const characterisation& from) {
    if (!from.window()) return nullptr;
    return program::json_object({{"text", from.window()->text()},
                                 {"first_event", from.window()->first_event()},
                                 {"last_event", from.window()->last_event()},
                                 {"from_seconds", from.seconds(from.window()->begin_tick())},
                                 {"to_seconds", from.seconds(from.window()->end_tick())}});
}

// Each with its places in the source, taken from the debug information.
json subsystems_json(const characterisation& from, module_debug& debug, container_list& containers) {
    json all = json::array();
    const freeing_list freeings(from, debug);
    for (const std::uint32_t s : from.order()) {
        json one = subsystem_json(from, s);
        one["containers"] = containers.of(s);
        add_estimates(one, from, s);
        one["freed_at"] = freeings.of(s);
        one["freed_elsewhere"] = freeings.left_out(s);
        for (json& scope : one["legality"]) {
            if (scope["scope"] != "function") continue;
            const symbols::source_place place = containers.declared(scope["name"].get<std::string>(), s);
            scope["file"] = place.file;
            scope["line"] = place.line;
        }
        all.push_back(std::move(one));
    }
    return all;
}

json pins_json(const characterisation& from) {
    const pinned_pages& pins = from.counts().pinning();
    const std::vector<pinned_pair> pairs = pins.pairs();
    if (pairs.empty()) return nullptr;
    double bytes = 0;
    for (const pinned_pair& pair : pairs) bytes += pair.bytes;
    json all = program::json_object({{"time_seconds", from.seconds(pins.later_tick())},
                                     {"peak_seconds", from.seconds(pins.peak_tick())},
                                     {"dead_bytes", static_cast<std::uint64_t>(bytes)},
                                     {"pairs", json::array()}});
    const auto name = [&](std::uint32_t s) { return from.subsystems().subsystems()[s].name; };
    for (std::size_t i = 0; i < std::min(pairs.size(), pairs_max); ++i) {
        const pinned_pair& pair = pairs[i];
        all["pairs"].push_back(program::json_object({{"by", name(pair.by)},
                                                     {"of", name(pair.of)},
                                                     {"bytes", static_cast<std::uint64_t>(pair.bytes)},
                                                     {"pages", pair.pages}}));
    }
    return all;
}

}  // namespace

json to_json(const characterisation& from) {
    const trace_totals& totals = from.counts().totals();
    json facts;
    facts["path"] = from.path();
    facts["events"] = totals.events;
    facts["allocations"] = totals.allocations;
    facts["frees"] = totals.frees;
    facts["reallocations"] = totals.reallocations;
    facts["bytes"] = totals.bytes;
    add_trace_facts(facts, from.reader());
    facts["lost"] = std::max(from.reader().process().events_lost, totals.lost_by_notes);
    facts["unmatched_frees"] = totals.unmatched_frees;
    facts["frees_not_seen"] = totals.lost_frees;
    facts["mended_hand_offs"] = totals.mended;
    facts["frees_are_placed"] = totals.frees_are_placed;
    add_name_facts(facts, from);
    std::uint64_t contexts = 0;
    for (const std::uint32_t s : from.order()) contexts += from.contexts(s).size();
    facts["contexts"] = contexts;
    facts["cpu_seconds"] = from.clock().cpu_ns() * 1e-9;
    facts["recorder_seconds"] = from.clock().recorder_ns() * 1e-9;
    facts["peak_live_bytes"] = totals.peak_bytes;
    facts["peak_live_objects"] = totals.peak_objects;
    facts["end_live_bytes"] = totals.live_bytes;
    facts["end_live_objects"] = totals.live_objects;

    json all;
    all["schema"] = schema;
    all["trace"] = std::move(facts);
    all["process"] = process_json(from.reader().process());
    module_debug debug(from);
    container_list containers(from, debug);
    all["subsystems"] = subsystems_json(from, debug, containers);
    add_patterns(all, from, containers);
    std::vector<std::size_t> position(from.subsystems().subsystems().size());
    for (std::size_t i = 0; i < from.order().size(); ++i) position[from.order()[i]] = i;
    all["heat_map"] = from.counts().addresses().to_json([&](std::uint64_t tick) { return from.seconds(tick); },
                                                        [&](std::uint32_t s) { return position[s]; });
    all["pins"] = pins_json(from);
    all["trend"] = trend_json(from);
    all["phases"] = phases_json(from);
    all["references"] = references_json(from);
    all["notes"] = json::array(
        {"a function is legal only where its activations were observed; else it is not disproved at most, for a trace "
         "of allocations cannot tell two calls in a row apart",
         "an object that is live when the trace ends outlives every scope",
         "pages (diffusion, heat map, pins) are counted; above 262 144 live objects they are estimated from a sample",
         from.references()
             ? "D, L and C are counted from the references"
             : "D counts instructions: CPU time bounds it, and it is null where that does not tell it within a "
               "factor of 1.5; C is estimated from the operations that were timed (1 in 64); L needs "
               "references to memory (`millpond trace record --with references` has what D and L need)"});
    if (from.window())
        all["notes"].push_back("D, V, U, C, N and W are those of the window, all else is of the whole trace");
    all["window"] = window_json(from);
    add_estimates(all, from);
    return all;
}

json process_json(const trace::process_record& process) {
    json facts;
    facts["pid"] = process.pid;
    facts["parent_pid"] = process.parent_pid;
    facts["executable"] = process.executable;
    facts["build_id"] = process.build_id;
    facts["argv"] = process.arguments;
    facts["exit_status"] = process.ended && process.signal == 0 ? json(process.exit_status) : json();
    facts["signal"] = process.signal != 0 ? json(process.signal) : json();
    facts["malloc_provider"] = process.malloc_provider.empty() ? "libc" : process.malloc_provider;
    return facts;
}

void add_trace_facts(json& facts, const trace::reader& reader) {
    const trace::process_record& process = reader.process();
    facts["lost"] = process.events_lost;
    facts["failed"] = process.allocations_failed;
    const double sampled = static_cast<double>(process.aliasing_sampled);
    facts["aliasing"] = program::json_object(
        {{"sampled", process.aliasing_sampled},
         {"differed", process.aliasing_differed},
         {"share", sampled > 0 ? json(static_cast<double>(process.aliasing_differed) / sampled) : json()}});
    facts["damages"] = json::array();
    for (const trace::damage& damage : reader.damages())
        facts["damages"].push_back(program::json_object({{"offset", damage.offset}, {"what", damage.what}}));
    facts["clean"] = process.clean;
    facts["ended"] = process.ended;
    facts["stopped_early"] = process.stopped_early != 0;
    const std::string partial = trace::partial_reason(process);
    facts["partial"] = partial.empty() ? json() : json(partial);
    const bool timed = process.end_ns > process.start_ns;
    facts["duration_seconds"] = timed ? json(static_cast<double>(process.end_ns - process.start_ns) * 1e-9) : json();
    double cpu_ns = 0;
    for (const trace::stream_record& stream : reader.streams()) cpu_ns += static_cast<double>(stream.cpu_ns);
    facts["cpu_seconds"] = cpu_ns * 1e-9;
    facts["threads"] = std::ranges::count_if(reader.streams(), &trace::stream_record::is_of_program);
    facts["sample_bytes"] = process.sample_bytes != 0 ? json(process.sample_bytes) : json();
}

json summarise(const std::string& path, bool accepts_damaged) {
    trace::reader reader(path, trace::sampled_traces::accepted);
    std::uint64_t allocations = 0, frees = 0, reallocations = 0, bytes = 0;
    reader.for_each_batch([&](const trace::event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const trace::event& e = batch[i];
            const bool reallocated = e.op == trace::operation::realloc_allocate;
            allocations += e.op == trace::operation::allocate;
            frees += e.op == trace::operation::free;
            reallocations += reallocated;
            if (reallocated || e.op == trace::operation::allocate) bytes += e.bytes;
        }
    });
    trace::require_whole(path, reader.damages(), accepts_damaged);
    json facts;
    facts["path"] = path;
    facts["events"] = allocations + frees + 2 * reallocations;
    facts["allocations"] = allocations;
    facts["frees"] = frees;
    facts["reallocations"] = reallocations;
    facts["bytes"] = bytes;
    add_trace_facts(facts, reader);
    for (const char* unknown : {"unmatched_frees", "named_share", "peak_live_bytes", "end_live_bytes"})
        facts[unknown] = nullptr;
    facts["contexts"] = reader.contexts().size() - 1;
    return program::json_object(
        {{"schema", schema}, {"trace", std::move(facts)}, {"process", process_json(reader.process())}});
}

}  // namespace millpond::characterise
