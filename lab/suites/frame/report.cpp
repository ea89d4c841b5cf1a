// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <nlohmann/json.hpp>

#include "malloc_in_use.hpp"

namespace millpond::experiment {
namespace {

using nlohmann::json;

constexpr const char* schema = "millpond.suite/1";

std::string compiler() {
#if defined(__clang__)
    return "clang++ " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
           std::to_string(__clang_patchlevel__);
#else
    return "g++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
           std::to_string(__GNUC_PATCHLEVEL__);
#endif
}

std::string standard_library() {
#if defined(_LIBCPP_VERSION)
    // Major, minor and patch, two digits each.
    return "libc++ " + std::to_string(_LIBCPP_VERSION / 10000) + "." + std::to_string(_LIBCPP_VERSION / 100 % 100) +
           "." + std::to_string(_LIBCPP_VERSION % 100);
#else
    return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE);
#endif
}

json value_of(const parameter& of, std::int64_t value) {
    if (of.words.empty()) return value;
    return of.words[static_cast<std::size_t>(value)];
}

json workload_as_json(const suite& in, const workload& each) {
    json parameters = json::array();
    for (const parameter& of : each.parameters) {
        json described = {{"name", of.name}, {"default", value_of(of, of.usual)}, {"meaning", of.meaning}};
        if (!of.words.empty()) described["values"] = of.words;
        parameters.push_back(std::move(described));
    }
    json names = json::array();
    for (std::size_t by = 0; by < in.strategies().size(); ++by) {
        if (each.takes(by)) names.push_back(in.strategies()[by].name);
    }
    return {{"name", each.name}, {"unit", each.unit}, {"parameters", parameters}, {"strategies", names}};
}

json head_of(const suite& in, const point& asked, const char* status) {
    json parameters = json::object();
    for (std::size_t i = 0; i < asked.of->parameters.size(); ++i) {
        const parameter& of = asked.of->parameters[i];
        parameters[std::string(of.name)] = value_of(of, asked.values[i]);
    }
    return {
        {"schema", schema},           {"status", status},
        {"workload", asked.of->name}, {"strategy", in.strategies()[asked.strategy].name},
        {"parameters", parameters},   {"malloc", malloc_in_use()},
    };
}

json counts_as_json(const std::vector<measure::count>& counts) {
    json all = json::object();
    for (const measure::count& each : counts) {
        all[each.name] = {{"value", each.value ? json(*each.value) : json(nullptr)},
                          {"why_null", each.value ? json(nullptr) : json(each.why_null)},
                          {"running_share", each.value ? json(each.running_share) : json(nullptr)},
                          {"counted_as", each.counted_as.empty() ? json(nullptr) : json(each.counted_as)}};
    }
    return all;
}

// What became resident: the kernel counts pages, and may have taken some of the base's away.
std::uint64_t above(std::uint64_t bytes, std::uint64_t base) { return bytes > base ? bytes - base : 0; }

}  // namespace

std::string list_as_json(const suite& of) {
    json workloads = json::array();
    for (const workload* each : of.workloads) workloads.push_back(workload_as_json(of, *each));
    json strategies = json::array();
    for (const strategy_name& each : of.strategies()) {
        strategies.push_back({{"name", each.name}, {"alias", each.alias.empty() ? json(nullptr) : json(each.alias)}});
    }
    const json all = {
        {"schema", schema},          {"suite", of.name},
        {"compiler", compiler()},    {"standard_library", standard_library()},
        {"malloc", malloc_in_use()}, {"workloads", workloads},
        {"strategies", strategies},
    };
    return all.dump(1);
}

std::string round_as_json(const suite& in, const point& asked, const outcome& measured) {
    json line = head_of(in, asked, "ok");
    line["unit"] = asked.of->unit;
    line["checksum"] = std::to_string(measured.checksum);
    line["units"] = measured.units;
    line["cpu_seconds"] = measured.cpu_seconds;
    line["wall_seconds"] = measured.wall_seconds;
    line["page_faults"] = measured.page_faults;
    line["peak_bytes"] = above(measured.peak_bytes, measured.base_bytes);
    line["end_bytes"] = above(measured.end_bytes, measured.base_bytes);
    line["held_bytes"] = measured.held_bytes ? json(*measured.held_bytes) : json(nullptr);
    for (const figure& each : measured.more) {
        line[std::string(each.name)] = each.value ? json(*each.value) : json(nullptr);
    }
    if (!measured.counts.empty()) line["counters"] = counts_as_json(measured.counts);
    return line.dump();
}

std::string failure_as_json(const suite& in, const point& asked, const char* status) {
    return head_of(in, asked, status).dump();
}

}  // namespace millpond::experiment
