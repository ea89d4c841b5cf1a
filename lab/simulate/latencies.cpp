// SPDX-License-Identifier: BSL-1.0
// Reads the latency of each level off the two curves, and parses the document of `millpond doctor`.
#include "lab/simulate/latencies.hpp"

#include <algorithm>
#include <cmath>

#include "lab/measure/costs.hpp"
#include "lab/plan/json_seal.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"

namespace millpond::simulate {
namespace {

using program::json;

constexpr std::size_t document_bytes_max = std::size_t{16} << 20;
constexpr std::uint64_t line_bytes = 64;

// Returns the point nearest to the middle of (inner, outer], by ratio; if no point lies there, the first beyond
// `inner`.
const latency_point& within(const std::vector<latency_point>& curve, std::uint64_t inner, std::uint64_t outer) {
    const double least = inner == 0 ? static_cast<double>(curve.front().size) / 2 : static_cast<double>(inner);
    const double middle = std::sqrt(least * static_cast<double>(outer));
    const latency_point* best = nullptr;
    double best_ratio = 0;
    for (const latency_point& point : curve) {
        if (point.size <= inner || (point.size > outer && best != nullptr)) continue;
        const double ratio = std::abs(std::log(static_cast<double>(point.size) / middle));
        // The margin prefers the smaller of two points that are equally near: its translation costs less.
        if (best == nullptr || ratio < best_ratio - 1e-9) best = &point, best_ratio = ratio;
        if (point.size > outer) break;
    }
    return best == nullptr ? curve.back() : *best;
}

// Returns the first point of at least twice `last`, or the last point.
const latency_point& beyond(const std::vector<latency_point>& curve, std::uint64_t last) {
    for (const latency_point& point : curve) {
        if (point.size >= 2 * last) return point;
    }
    return curve.back();
}

double at(const std::vector<latency_point>& curve, std::uint64_t size) {
    double ns = curve.front().ns;
    for (const latency_point& point : curve) {
        if (point.size <= size) ns = point.ns;
    }
    return ns;
}

// Returns the translation time in the latency of a set: its loads go to random pages, and each buffer holds as many of
// them as fit.
double translation_in_set(const machine_latencies& machine, std::uint64_t set_bytes) {
    if (machine.pages.empty() || machine.buffers.empty()) return 0;
    const double pages = static_cast<double>(set_bytes) / static_cast<double>(page_bytes);
    double ns = 0, paid = 0;
    for (std::size_t i = 0; i < machine.buffers.size(); ++i) {
        const double entries = machine.buffers[i].entries;
        const double next = i + 1 < machine.buffers.size()
                                ? translation_ns(machine, machine.buffers[i].entries, machine.buffers[i + 1].entries)
                                : walk_ns(machine, machine.buffers[i].entries);
        ns += std::max(0.0, 1 - entries / pages) * (next - paid);
        paid = next;
    }
    return std::max(0.0, ns);
}

// Returns the curve of sets without translation. It never falls: noise, or a correction that is too large, must not
// make a farther level faster.
std::vector<latency_point> pure_sets(const machine_latencies& machine) {
    std::vector<latency_point> pure = machine.sets;
    double highest = 0;
    for (latency_point& point : pure) {
        point.ns = highest = std::max(highest, point.ns - translation_in_set(machine, point.size));
    }
    return pure;
}

std::uint64_t last_entries_of(const machine_latencies& machine) {
    return machine.buffers.empty() ? 0 : machine.buffers.back().entries;
}

// Returns how much more the pages' curve shows than the same lines without gaps.
double more_than_lines(const machine_latencies& machine, const latency_point& pages) {
    return std::max(0.0, pages.ns - at(machine.sets, pages.size * line_bytes));
}

unsigned number(const json& of, const char* name) { return of.at(name).get<unsigned>(); }

std::vector<latency_point> points_of(const json& document, const char* name, const char* size) {
    std::vector<latency_point> points;
    for (const json& row : document.value(name)) {
        if (row.contains("median") && row["median"].is_number())
            points.push_back({row.at(size).get<std::uint64_t>(), row["median"].get<double>()});
    }
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
    return points;
}

machine_latencies from_document(const json& document, const std::string& path) {
    machine_latencies machine;
    machine.from = path;
    if (const json& name = document.value("machine"); !name.is_null() && !name.text().empty())
        machine.from += " (" + name.text() + ")";
    machine.sets = points_of(document, "latencies", "set_bytes");
    machine.pages = points_of(document, "page_latencies", "pages");
    for (const json& one : document.value("caches"))
        machine.caches.push_back({number(one, "level"), one.at("bytes").get<std::uint64_t>(), number(one, "ways"),
                                  number(one, "line_bytes")});
    for (const json& one : document.value("translation_buffers"))
        machine.buffers.push_back({number(one, "level"), number(one, "entries"), number(one, "ways")});
    const json& cycle = document.value("costs").value("cycle").value("median");
    if (cycle.is_number()) machine.cycle_ns = cycle.get<double>();
    return machine;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw program::failure(program::input, path + " " + why + "; `millpond doctor -o FILE.json` writes what is needed");
}

template <class Points, class Samples>
void add_median(Points& to, std::uint64_t size, Samples samples) {
    if (samples.empty()) return;
    std::sort(samples.begin(), samples.end());
    to.push_back({size, samples[samples.size() / 2]});
}

}  // namespace

machine_latencies read_latencies(const std::string& path) {
    json document;
    try {
        document = program::parse_json(program::read_regular(path, document_bytes_max));
    } catch (const program::json_kind_error&) {
    }
    if (!document.is_object()) refuse(path, "is not a JSON document");
    if (const char* const flaw = plan::seal_flaw(document)) refuse(path, std::string("is not valid: ") + flaw);
    machine_latencies machine;
    try {
        machine = from_document(document, path);
    } catch (const program::json_kind_error&) {
        refuse(path, "does not have the form of doctor's latencies");
    }
    if (machine.sets.empty()) {
        const json& why = document.value("why_no_probe");
        const std::string reason = why.is_string() ? why.text() : "";
        refuse(path, "has no latencies" + (reason.empty() ? "" : " (" + reason + ")"));
    }
    if (machine.cycle_ns <= 0) refuse(path, "does not give the length of a cycle (older versions did not write it)");
    return machine;
}

machine_latencies measured_latencies() {
    machine_latencies machine;
    machine.from = "measured here, now";
    for (const auto& one : measure::memory_latencies()) add_median(machine.sets, one.set_bytes, one.samples);
    for (const auto& one : measure::page_latencies()) add_median(machine.pages, one.pages, one.samples);
    std::vector<latency_point> cycle;
    add_median(cycle, 1, measure::cycle_cost());
    if (machine.sets.empty() || cycle.empty())
        throw program::failure(program::environment,
                               "latencies cannot be measured here; give those of another machine: --latencies FILE");
    machine.cycle_ns = cycle.front().ns;
    machine.caches = measure::data_caches();
    machine.buffers = measure::translation_buffers();
    return machine;
}

std::vector<std::string> machine_descriptions(const machine_latencies& machine) {
    const auto list_of = [](const auto& levels, const auto& number) {
        std::string text;
        for (const auto& one : levels) text += (text.empty() ? "" : "/") + std::to_string(number(one));
        return text;
    };
    // A simulated cache has whole sets of lines; the sizes that a virtual machine reports may not be multiples of a
    // set.
    const auto ways = [](const auto& one) {
        const std::uint64_t lines = one.bytes / one.line_bytes;
        std::uint64_t most = std::min<std::uint64_t>(one.ways, lines);
        while (lines % most != 0) --most;
        return most;
    };
    std::vector<std::string> found;
    if (machine.caches.empty()) return found;
    found.push_back("levels:line=" + std::to_string(machine.caches.front().line_bytes) +
                    ",size=" + list_of(machine.caches, [](const auto& one) { return one.bytes; }) +
                    ",ways=" + list_of(machine.caches, ways));
    if (!machine.buffers.empty())
        found.push_back("tlb:page=4K,entries=" + list_of(machine.buffers, [](const auto& one) { return one.entries; }) +
                        ",ways=" + list_of(machine.buffers, [](const auto& one) { return one.ways; }));
    return found;
}

double cache_ns(const machine_latencies& machine, std::uint64_t inner_bytes, std::uint64_t bytes) {
    const std::vector<latency_point> pure = pure_sets(machine);
    return within(pure, inner_bytes, bytes).ns;
}

bool is_beyond_caches(const machine_latencies& machine, std::uint64_t last_bytes) {
    const std::uint64_t own = machine.caches.empty() ? 0 : machine.caches.back().bytes;
    return machine.sets.back().size >= 2 * std::max(last_bytes, own);
}

double memory_ns(const machine_latencies& machine, std::uint64_t last_bytes) {
    const std::uint64_t own = machine.caches.empty() ? 0 : machine.caches.back().bytes;
    const std::vector<latency_point> pure = pure_sets(machine);
    return beyond(pure, std::max(last_bytes, own)).ns;
}

double translation_ns(const machine_latencies& machine, std::uint64_t inner_entries, std::uint64_t entries) {
    return more_than_lines(machine, within(machine.pages, inner_entries, entries));
}

double walk_ns(const machine_latencies& machine, std::uint64_t last_entries) {
    return more_than_lines(machine, beyond(machine.pages, std::max(last_entries, last_entries_of(machine))));
}

}  // namespace millpond::simulate
