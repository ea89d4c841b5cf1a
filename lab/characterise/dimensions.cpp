// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <cmath>

#include "dvluc.hpp"
#include "subsystem_json.hpp"

namespace millpond::characterise {
namespace {

// So few timed operations say less about a thread than the mean of the whole subsystem does.
constexpr std::uint64_t samples_min = 16;

struct sampled_time {
    std::uint64_t sampled = 0, ticks = 0;
    void add(std::uint64_t samples, std::uint64_t more) {
        sampled += samples;
        ticks += more;
    }
    double mean() const {
        return static_cast<double>(ticks) / static_cast<double>(std::max<std::uint64_t>(1, sampled));
    }
};

// Mean ticks of an operation: of this thread here, else of everybody here, else of the whole trace.
double mean_ticks(const thread_share& share, const sampled_time& here, const trace_totals& whole) {
    if (share.sampled >= samples_min) return sampled_time{share.sampled, share.sampled_ticks}.mean();
    if (here.sampled >= samples_min || whole.sampled == 0) return here.mean();
    return sampled_time{whole.sampled, whole.sampled_ticks}.mean();
}

json dimension(json value, const char* kind, json absolute) {
    return {{"value", std::move(value)}, {"kind", kind}, {"absolute", std::move(absolute)}};
}

}  // namespace

dimensions measure_dimensions(const characterisation& all, std::uint32_t subsystem) {
    const subsystem_counts& s = all.analysis().subsystems()[subsystem];
    const trace_totals& totals = all.analysis().totals();
    const double ns_per_tick = 1 / all.ticks_per_ns();
    sampled_time here;
    for (const thread_share* share : all.shares(subsystem)) here.add(share->sampled, share->sampled_ticks);

    const double duration_ns = static_cast<double>(s.last_tick - s.first_tick) * ns_per_tick;
    double operations_ns = 0, cpu_ns = 0;
    std::uint64_t operations = 0;
    std::vector<double> inside;
    for (const thread_share* share : all.shares(subsystem)) {
        const double ns = static_cast<double>(share->operations) * mean_ticks(*share, here, totals) * ns_per_tick;
        operations += share->operations;
        operations_ns += ns;
        cpu_ns += all.clock().at(share->thread, s.last_tick) - all.clock().at(share->thread, s.first_tick);
        inside.push_back(share_of(ns, duration_ns));
    }
    const bool timed = totals.sampled > 0;
    const bool has_cpu = cpu_ns > 0;

    dimensions result;
    result.threads = inside.size();
    result.cpu_seconds = has_cpu ? json(cpu_ns * 1e-9) : json();
    result.operation_seconds = timed ? json(operations_ns * 1e-9) : json();

    json density = dimension(timed && has_cpu ? json(share_of(operations_ns, cpu_ns)) : json(), "estimated",
                             {{"operation_seconds", result.operation_seconds},
                              {"cpu_seconds", result.cpu_seconds},
                              {"operations", operations},
                              {"timed", here.sampled}});
    if (!timed)
        density["why_null"] = "no operation was timed";
    else if (!has_cpu)
        density["why_null"] = "no CPU time is known for its duration";

    const double nats = entropy(s.sizes);
    json locality = dimension(nullptr, "counted", json::object());
    locality["why_null"] = "no references captured";
    json utilization = dimension(
        s.bytes > 0 ? json(share_of(static_cast<double>(s.peak_bytes), static_cast<double>(s.bytes))) : json(),
        "counted", {{"peak_live_bytes", s.peak_bytes}, {"bytes", s.bytes}});
    if (s.bytes == 0) utilization["why_null"] = "no bytes were asked for";
    const bool certain = inside.size() < 2;  // nothing needs to be timed to know that one thread meets nobody
    json contended = dimension(timed || certain ? json(contention(inside)) : json(), "estimated",
                               {{"threads_inside", timed || certain ? json(threads_inside_at_once(inside)) : json()},
                                {"threads", inside.size()},
                                {"duration_seconds", duration_ns * 1e-9}});
    if (!timed && !certain) contended["why_null"] = "no operation was timed";

    result.dvluc["D"] = std::move(density);
    result.dvluc["V"] =
        dimension(variation(nats), "counted", {{"entropy_nats", nats}, {"effective_sizes", std::exp(nats)}});
    result.dvluc["L"] = std::move(locality);
    result.dvluc["U"] = std::move(utilization);
    result.dvluc["C"] = std::move(contended);
    return result;
}

}  // namespace millpond::characterise
