// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "adapter.hpp"
#include "contender_table.hpp"

namespace millpond::suites {
namespace {

using nlohmann::json;

json optional(const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return nullptr;
    return std::round(*value * 1e4) / 1e4;
}

json text_or_null(std::string_view text) {
    if (text.empty()) return nullptr;
    return text;
}

json contender_as_json(const contender_facts& facts, bool kept) {
    return {
        {"name", std::string(facts.name) + std::string(kept ? kept_suffix : "")},
        {"allocator", facts.allocator},
        {"binding", facts.binding},
        {"source", kept ? "kept" : facts.source},
        {"kind", facts.kind},
        {"package", text_or_null(package_name(facts.from))},
        {"version", version_of(facts.from)},
    };
}

const contender_facts* facts_of(std::string_view name) {
    for (const contender_facts& facts : all_contenders()) {
        if (facts.name == name) return &facts;
    }
    return nullptr;
}

json workload_as_json(const workload& each) {
    json names = json::array();
    for (const entry& found : each.contenders()) {
        names.push_back(found.contender);
        const contender_facts* const facts = facts_of(found.contender);
        if (facts != nullptr && facts->can_be_kept) {
            names.push_back(std::string(found.contender) + std::string(kept_suffix));
        }
    }
    json parameters = json::object();
    if (!each.size_is.empty()) parameters["size"] = each.size_is;
    for (const std::string_view option : each.options) parameters[std::string(option)] = nullptr;
    return {
        {"name", each.name},
        {"unit", each.unit},
        {"sizes", each.sizes},
        {"parameters", parameters},
        {"counted_function", text_or_null(each.counted_function)},
        {"contenders", names},
    };
}

}  // namespace

std::string list_as_json() {
    json workloads = json::array();
    for (const workload* each : all_workloads()) workloads.push_back(workload_as_json(*each));
    json contenders = json::array();
    json absent = json::array();
    for (const contender_facts& facts : all_contenders()) {
        if (!was_built_with(facts.from)) {
            absent.push_back({{"name", facts.name}, {"package", package_name(facts.from)}});
            continue;
        }
        contenders.push_back(contender_as_json(facts, false));
        if (facts.can_be_kept) contenders.push_back(contender_as_json(facts, true));
    }
    const json all = {
        {"schema", "millpond.library_suite/1"},
        {"workloads", workloads},
        {"contenders", contenders},
        {"absent", absent},
    };
    return all.dump(1);
}

std::string cell_as_json(const workload& of, const cell& asked, const outcome& measured) {
    const bool adapted = asked.contender == "adapter";
    json steps = json::array();
    for (const size_step& step : measured.steps) {
        steps.push_back({{"size", step.size}, {"ns", std::round(step.ns * 1e4) / 1e4}});
    }
    const json line = {
        {"status", "ok"},
        {"workload", asked.workload},
        {"contender", asked.contender},
        {"unit", of.unit},
        {"size", asked.size},
        {"af", asked.access_factor},
        {"sf", asked.shuffle_factor},
        {"threads", asked.threads},
        {"seed", asked.seed},
        {"units", measured.units},
        {"checksum", measured.checksum},
        {"cold_ns", optional(measured.cold_ns)},
        {"warm_ns", optional(measured.warm_ns)},
        {"before_ns", optional(measured.before_ns)},
        {"after_ns", optional(measured.after_ns)},
        {"wall_ns", optional(measured.wall_ns)},
        {"pause_ns", optional(measured.pause_ns)},
        {"base_bytes", measured.base_bytes},
        {"peak_bytes", measured.peak_bytes},
        {"end_bytes", measured.end_bytes},
        {"held_bytes", measured.held_bytes ? json(*measured.held_bytes) : json(nullptr)},
        {"touched_bytes", measured.touched_bytes ? json(*measured.touched_bytes) : json(nullptr)},
        {"faults", measured.faults},
        {"steps", steps},
        {"peer", adapted ? json(adapter.name()) : json(nullptr)},
        {"peer_version", adapted ? json(adapter.version()) : json(nullptr)},
    };
    return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string bad_alloc_as_json(const cell& asked) {
    const json line = {
        {"status", "bad_alloc"},
        {"workload", asked.workload},
        {"contender", asked.contender},
        {"size", asked.size},
    };
    return line.dump();
}

}  // namespace millpond::suites
