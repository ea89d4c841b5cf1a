// SPDX-License-Identifier: BSL-1.0
// millpond-probe: measures the cost of this machine's basic operations, and lists what its kernel allows.
#include <algorithm>
#include <string>

#include "lab/measure/abilities.hpp"
#include "lab/measure/costs.hpp"
#include "lab/measure/memory_levels.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/command_line.hpp"
#include "lab/program/json.hpp"

namespace {

using namespace millpond::measure;
namespace program = millpond::program;
using program::json;

const std::string unmapped = "memory cannot be mapped";

json cost_json(cost_samples samples, const std::string& why_none) {
    if (samples.empty())
        return program::json_object({{"median", nullptr}, {"n", 0}, {"unit", "ns"}, {"why_null", why_none}});
    std::sort(samples.begin(), samples.end());
    return program::json_object({{"n", samples.size()},
                                 {"median", samples[samples.size() / 2]},
                                 {"low", samples.front()},
                                 {"high", samples.back()},
                                 {"unit", "ns"},
                                 {"why_null", nullptr}});
}

json ability_json(const ability& found) {
    return program::json_object({{"name", found.name},
                                 {"available", found.available},
                                 {"why_not", found.available ? json(nullptr) : json(found.why_not)}});
}

json latencies_json(const std::vector<set_latency>& latencies) {
    json result = json::array();
    for (const set_latency& one : latencies) {
        json row = program::json_object({{"set_bytes", one.set_bytes}});
        row.update(cost_json(one.samples, unmapped));
        result.push_back(row);
    }
    return result;
}

json page_latencies_json() {
    json result = json::array();
    for (const page_latency& one : page_latencies()) {
        json row = program::json_object({{"pages", one.pages}});
        row.update(cost_json(one.samples, unmapped));
        result.push_back(row);
    }
    return result;
}

void add_levels(json& to) {
    json caches = json::array(), buffers = json::array();
    for (const data_cache& one : data_caches())
        caches.push_back(program::json_object(
            {{"level", one.level}, {"bytes", one.bytes}, {"ways", one.ways}, {"line_bytes", one.line_bytes}}));
    for (const translation_buffer& one : translation_buffers())
        buffers.push_back(program::json_object({{"level", one.level}, {"entries", one.entries}, {"ways", one.ways}}));
    to["caches"] = caches;
    to["translation_buffers"] = buffers;
}

json probe() {
    const std::vector<set_latency> latencies = memory_latencies();
    const huge_page_cost huge = huge_page_fault_cost();
    json result;
    result["schema"] = "millpond.probe/1";
    result["costs"] = program::json_object({{"cycle", cost_json(cycle_cost(), "only measured on x86-64")},
                                            {"time_stamp", cost_json(time_stamp_cost(), "")},
                                            {"clock", cost_json(clock_cost(), "")},
                                            {"allocation", cost_json(allocation_cost(), "")},
                                            {"page_fault", cost_json(page_fault_cost(), unmapped)},
                                            {"huge_page_fault", cost_json(huge.samples, huge.why_none)},
                                            {"memory_latency", cost_json(latencies.back().samples, unmapped)}});
    result["latencies"] = latencies_json(latencies);
    result["page_latencies"] = page_latencies_json();
    add_levels(result);
    const auto invariant = time_stamp_is_invariant();
    result["time_stamp_is_invariant"] = invariant ? json(*invariant) : json(nullptr);
    json counters = json::array();
    for (const ability& found : counter_abilities()) counters.push_back(ability_json(found));
    result["counters"] = counters;
    result["ptrace"] = ability_json(ptrace_ability());
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    program::command_line app{
        "Measures the cost of this machine's basic operations, and lists what its kernel allows."};
    std::string json_path;
    unsigned long steps = 0;
    program::option_list mode = app.exactly_one("mode", "what to do: exactly one");
    mode.option("--json", json_path, "measure, and write the result to FILE (- is standard output)").value_name("FILE");
    mode.option("--spin", steps, "do a fixed piece of work of N steps, for measuring noise").value_name("N");
    app.footer("Exit status: 0 done, 2 usage, 4 the result cannot be written.");
    return program::guarded_main(app, argc, argv, [&]() -> int {
        if (json_path.empty()) return spin(steps) == ~0UL;  // never true; uses the sum, so that the work is not removed
        program::write_or_print(json_path, program::json_text(probe()) + "\n");
        return program::ok;
    });
}
