// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/subsystem_json.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "lab/characterise/dvluc.hpp"
#include "lab/characterise/reference_json.hpp"
#include "lab/program/json.hpp"
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
        if (octaves[i] > 0) bins.push_back(program::json_object({{"below_ns_log2", i}, {"count", octaves[i]}}));
    }
    return program::json_object(
        {{"p10", at(0.1)}, {"p50", at(0.5)}, {"p90", at(0.9)}, {"max", at(1)}, {"histogram", std::move(bins)}});
}

json sizes_json(const subsystem_counts& s) {
    json sizes = json::array();
    for (std::size_t i = 0; i < s.sizes.size(); ++i) {
        if (s.sizes[i] > 0)
            sizes.push_back(program::json_object({{"bytes", size_class_bytes(i)}, {"count", s.sizes[i]}}));
    }
    return sizes;
}

json diffusion_json(const characterisation& all, const subsystem_counts& s) {
    json points = json::array();
    for (const diffusion_point& point : s.diffusion) {
        const auto live = static_cast<double>(point.live_bytes);
        points.push_back(
            program::json_object({{"time_seconds", all.seconds(point.tick)},
                                  {"live_bytes", point.live_bytes},
                                  {"page_bytes", point.page_bytes},
                                  {"ratio", live > 0 ? json(static_cast<double>(point.page_bytes) / live) : json()}}));
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
        top.push_back(program::json_object(
            {{"share", share}, {"allocations", context.objects}, {"bytes", context.bytes}, {"stack", all.stack(c)}}));
    }
    return top;
}

// Returns the words that tell which instance an object belongs to, by call site; empty if none were sampled or found.
json owners_json(const characterisation& all, std::uint32_t subsystem) {
    json found = json::array();
    if (all.owners() == nullptr) return found;
    for (const owner_key& key : all.owners()->keys_of(subsystem))
        found.push_back(program::json_object(
            {{"word", preload::word_position::name(key.position)}, {"owners", key.owners}, {"samples", key.samples}}));
    return found;
}

// "dvluc", with W and N.
struct dimensions {
    json dvluc;
    std::size_t working_threads;  // W: with at least a hundredth of the operations of the busiest
    std::size_t threads;          // all that have operations in it
    json cpu_seconds;             // N, null if unknown
    json operation_seconds;
    json free_seconds;  // of these
};

json dimension(json value, const char* kind, json absolute) {
    return program::json_object({{"value", std::move(value)}, {"kind", kind}, {"absolute", std::move(absolute)}});
}

// The time that reading the clock around an operation may add; and the mean above which an operation waits for the
// kernel or for a lock, without executing more.
constexpr double clock_ns = 10, operation_ns_most = 50;
// The certain share of the recorder's estimated time: a preempted sample makes the estimate too long.
constexpr double recorder_certain = 0.5;

// The times of one thread in a subsystem, in the window. `operation_least_ns`: the least time that its operations take.
struct thread_time {
    double operation_ns = 0, operation_least_ns = 0, cpu_ns = 0, recorder_ns = 0;
    std::uint64_t operations = 0;
};

// The window: that of the characterisation; else from the thread's first operation to its last, or to its end while an
// object is alive.
thread_time time_of(const characterisation& all, const thread_share& share, const subsystem_counts& s) {
    const thread_clock& clock = all.clock();
    const event_window* const window = all.window();
    const std::uint64_t begin = window != nullptr ? window->begin_tick() : share.first_tick;
    const std::uint64_t end = window != nullptr    ? window->end_tick()
                              : s.live_objects > 0 ? ~std::uint64_t{0}
                                                   : share.last_tick;
    const auto within = [&](double (thread_clock::*at)(std::uint32_t, std::uint64_t) const) {
        return (clock.*at)(share.thread, end) - (clock.*at)(share.thread, begin);
    };
    const operation_durations& whole = all.measured().totals().durations;
    const double ticks = s.durations.ticks_of(share.operations, whole);
    const double per_ns = all.ticks_per_ns();
    const double least =
        s.durations.least_ticks_of(share.operations, whole, clock_ns * per_ns, operation_ns_most * per_ns);
    return {ticks / per_ns, least / per_ns, within(&thread_clock::at), within(&thread_clock::recorder_at),
            share.operations_in_all()};
}

// Returns each thread's share of the time inside, in a run without the recorder. That run is shorter by the recorder's
// time on the thread where it took most. None if a share is impossible.
std::optional<std::vector<double>> shares_inside(const std::vector<thread_time>& working, double duration_ns) {
    std::vector<double> inside;
    for (const thread_time& t : working) {
        const std::optional<double> share = estimated_share(t.operation_ns, duration_ns);
        if (!share) return std::nullopt;
        inside.push_back(*share);
    }
    return inside;
}

json contention_json(const std::vector<thread_time>& working, double duration_ns, double recorded_ns, bool timed) {
    json absolute = program::json_object({{"threads_inside", nullptr},
                                          {"threads", working.size()},
                                          {"duration_seconds", duration_ns > 0 ? json(duration_ns * 1e-9) : json()},
                                          {"recorded_seconds", recorded_ns * 1e-9}});
    if (working.size() < 2) {  // a single thread never meets another; no timing is needed
        absolute["threads_inside"] = 0.0;
        return dimension(0.0, "estimated", std::move(absolute));
    }
    const std::optional<std::vector<double>> inside = timed ? shares_inside(working, duration_ns) : std::nullopt;
    if (inside) {
        absolute["threads_inside"] = threads_inside_at_once(*inside);
        return dimension(contention(*inside), "estimated", std::move(absolute));
    }
    json unknown = dimension(nullptr, "estimated", std::move(absolute));
    unknown["why_null"] =
        timed ? "the estimated time of a thread in its operations exceeds its duration without the recorder"
              : "no operation was timed";
    return unknown;
}

// Returns D without references, bounded by CPU time.
json bounded_density_json(const thread_time& sum, const subsystem_counts& s, bool timed) {
    json density = dimension(nullptr, "estimated",
                             program::json_object({{"operation_seconds", nullptr},
                                                   {"cpu_seconds", nullptr},
                                                   {"operations", sum.operations},
                                                   {"timed", s.durations.count()},
                                                   {"at_least", nullptr}}));
    density["method"] = "CPU time";
    const bool has_cpu = sum.cpu_ns > 0;
    if (timed) density["absolute"]["operation_seconds"] = sum.operation_ns * 1e-9;
    if (has_cpu) density["absolute"]["cpu_seconds"] = sum.cpu_ns * 1e-9;
    if (sum.operations == 0 || !timed || !has_cpu) {
        density["why_null"] = sum.operations == 0 ? "no operation lies in the window"
                              : !timed            ? "no operation was timed"
                                                  : "no CPU time is known for its window";
        return density;
    }
    const double cpu_most_ns = sum.cpu_ns + (1 - recorder_certain) * sum.recorder_ns;
    const double rest_ns = std::max(0.0, cpu_most_ns - sum.operation_least_ns);
    const bounded_density found = density_of_times(sum.operation_least_ns, rest_ns);
    density["absolute"]["at_least"] = found.at_least;
    if (found.value)
        density["value"] = *found.value;
    else
        density["why_null"] =
            "CPU time does not tell it within a factor of 1.5; `millpond record --references` counts "
            "the instructions";
    return density;
}

dimensions measure_dimensions(const characterisation& all, std::uint32_t subsystem) {
    const subsystem_counts& s = all.measured().subsystems()[subsystem];
    const trace_totals& totals = all.measured().totals();
    const std::vector<const thread_share*> shares = all.measured_shares(subsystem);
    std::vector<thread_time> threads;
    threads.reserve(shares.size());
    for (const thread_share* share : shares) threads.push_back(time_of(all, *share, s));
    thread_time sum;
    double recorder_most_ns = 0;  // on the thread on which it took most
    std::uint64_t busiest = 0;
    for (const thread_time& t : threads) {
        sum.operation_ns += t.operation_ns;
        sum.operation_least_ns += t.operation_least_ns;
        sum.cpu_ns += t.cpu_ns;
        sum.operations += t.operations;
        sum.recorder_ns += t.recorder_ns;
        recorder_most_ns = std::max(recorder_most_ns, t.recorder_ns);
        busiest = std::max(busiest, t.operations);
    }
    std::vector<thread_time> working;
    for (const thread_time& t : threads) {
        if (is_working(t.operations, busiest)) working.push_back(t);
    }
    const event_window* const window = all.window();
    const std::uint64_t last_tick = s.live_objects > 0 ? std::max(totals.last_tick, s.last_tick) : s.last_tick;
    const double recorded_ns =
        static_cast<double>(window != nullptr ? window->end_tick() - window->begin_tick() : last_tick - s.first_tick) /
        all.ticks_per_ns();
    const double duration_ns = recorded_ns - recorder_most_ns;
    const bool timed = totals.durations.count() > 0;

    dimensions result;
    result.working_threads = working.size();
    result.threads = threads.size();
    result.cpu_seconds = sum.cpu_ns > 0 ? json(sum.cpu_ns * 1e-9) : json();
    result.operation_seconds = timed ? json(sum.operation_ns * 1e-9) : json();
    operation_counts frees{};
    constexpr auto deallocation = static_cast<std::size_t>(operation_kind::deallocation);
    for (const thread_share* share : shares) frees[deallocation] += share->operations[deallocation];
    result.free_seconds =
        timed ? json(s.durations.ticks_of(frees, totals.durations) / all.ticks_per_ns() * 1e-9) : json();

    const double nats = entropy(s.sizes);
    json locality = dimension(nullptr, "counted", json::object());
    locality["why_null"] = "no references captured";
    const std::uint64_t bytes = s.opening_bytes + s.bytes;
    json utilization =
        dimension(bytes > 0 ? json(share_of(static_cast<double>(s.peak_bytes), static_cast<double>(bytes))) : json(),
                  "counted", program::json_object({{"peak_live_bytes", s.peak_bytes}, {"bytes", bytes}}));
    if (bytes == 0) utilization["why_null"] = "no bytes were asked for";
    result.dvluc["C"] = contention_json(working, duration_ns, recorded_ns, timed);
    result.dvluc["D"] = bounded_density_json(sum, s, timed);
    json variety = dimension(s.objects > 0 ? json(variation(nats)) : json(), "counted",
                             program::json_object({{"entropy_nats", nats}, {"effective_sizes", std::exp(nats)}}));
    if (s.objects == 0) variety["why_null"] = "no allocation lies in the window";
    result.dvluc["V"] = std::move(variety);
    result.dvluc["L"] = std::move(locality);
    result.dvluc["U"] = std::move(utilization);
    return result;
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
    one["near"] = identity.near.empty() ? json() : json(identity.near);
    if (identity.kind == "group") one["owners"] = identity.owners;
    one["modules"] = identity.modules;
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
    one["effective_sizes"] = std::exp(entropy(all.measured().subsystems()[subsystem].sizes));
    one["contexts"] = all.contexts(subsystem).size();
    one["N"] = program::json_object({{"cpu_seconds", measured.cpu_seconds}});
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
    one["references"] = references_json(all, subsystem);
    if (!one["references"].is_null()) {
        one["dvluc"]["D"] = counted_density_json(all, subsystem);
        one["dvluc"]["L"] = locality_json(all, subsystem);
        one["dvluc"]["C"] = counted_contention_json(all, subsystem);
        one["N"]["instructions"] = one["dvluc"]["D"]["absolute"]["instructions"];
    }
    one["legality"] = legality_json(all, subsystem);
    one["top_contexts"] = contexts_json(all, subsystem);
    return one;
}

}  // namespace millpond::characterise
