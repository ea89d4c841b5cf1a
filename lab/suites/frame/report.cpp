// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/program/json.hpp"

namespace millpond::frame {
namespace {

using program::json;

constexpr const char* schema = "millpond.suite/2";

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

// Returns: the path of the library (or program) that malloc is in, as the loader reports it; empty if it does not. The
// loader only warns of a library that it cannot preload; the program would then be measured on the wrong malloc. So
// every suite reports the malloc in use, and the caller compares.
std::string malloc_in_use() {
    // Every library of the process calls this one: the first malloc in the loader's order.
    void* const found = ::dlsym(RTLD_DEFAULT, "malloc");
    Dl_info info;
    if (found == nullptr || ::dladdr(found, &info) == 0 || info.dli_fname == nullptr) return {};
    return info.dli_fname;
}

json value_of(const parameter& of, std::int64_t value) {
    if (of.words.empty()) return value;
    return of.words[static_cast<std::size_t>(value)];
}

json text_or_null(std::string_view text) {
    if (text.empty()) return nullptr;
    return text;
}

// Bytes and counts are printed as integers.
json number_or_null(const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return nullptr;
    constexpr double exact = 9007199254740992.0;
    if (std::trunc(*value) == *value && std::abs(*value) < exact) return static_cast<std::int64_t>(*value);
    return *value;
}

std::string name_of(const contender& each, bool is_kept) {
    return std::string(each.name).append(is_kept ? kept_suffix : "");
}

constexpr metric window_metrics[] = {"cpu_seconds", "wall_seconds", "peak_bytes", "end_bytes",
                                     "held_bytes",  "page_faults",  "units",      {"heap_taken", "share", "offset"}};
constexpr metric pass_metrics[] = {"resident_bytes", "peak_bytes", "end_bytes", "held_bytes", "left_bytes"};

std::vector<metric> metrics_of(const suite& in, const workload& of) {
    std::vector<metric> all(of.metrics.begin(), of.metrics.end());
    if (in.measures_windows()) {
        all.insert(all.begin(), std::begin(window_metrics), std::end(window_metrics));
    } else {
        all.insert(all.end(), std::begin(pass_metrics), std::end(pass_metrics));
    }
    return all;
}

bool has(const metric& of, std::string_view figure) {
    if (of.by.empty()) return of.name == figure;
    return figure.starts_with(of.name) && figure.substr(of.name.size()).starts_with(':');
}

json workload_as_json(const suite& in, const workload& each) {
    json parameters = json::array();
    for (const parameter& of : each.parameters) {
        json described =
            program::json_object({{"name", of.name}, {"meaning", of.meaning}, {"default", value_of(of, of.usual)}});
        if (of.words.empty()) {
            described["least"] = of.least;
            described["most"] = of.most;
        } else {
            described["values"] = std::vector<std::string_view>(of.words.begin(), of.words.end());
        }
        parameters.push_back(std::move(described));
    }
    json metrics = json::array();
    for (const metric& of : metrics_of(in, each)) {
        metrics.push_back(program::json_object({{"name", of.name}, {"unit", of.unit}, {"by", text_or_null(of.by)}}));
    }
    json names = json::array();
    for (std::size_t by = 0; by < in.contenders().size(); ++by) {
        if (!each.takes(by)) continue;
        names.push_back(in.contenders()[by].name);
        if (in.contenders()[by].can_be_kept) names.push_back(name_of(in.contenders()[by], true));
    }
    return program::json_object({{"name", each.name},
                                 {"unit", each.unit},
                                 {"metrics", metrics},
                                 {"parameters", parameters},
                                 {"contenders", names},
                                 {"counted_functions", std::vector<std::string_view>(each.counted_functions.begin(),
                                                                                     each.counted_functions.end())}});
}

json contender_as_json(const contender& each, bool is_kept) {
    return program::json_object({{"name", name_of(each, is_kept)},
                                 {"alias", is_kept ? json(nullptr) : text_or_null(each.alias)},
                                 {"kind", each.kind},
                                 {"source", is_kept ? "kept" : each.source},
                                 {"package", text_or_null(each.from->name)},
                                 {"version", text_or_null(each.from->version())},
                                 {"is_built_in", each.from->is_built_in}});
}

json head_of(const suite& in, const point& asked, const char* status) {
    json parameters = json::object();
    for (std::size_t i = 0; i < asked.of->parameters.size(); ++i) {
        const parameter& of = asked.of->parameters[i];
        parameters[std::string(of.name)] = value_of(of, asked.values[i]);
    }
    return program::json_object({{"schema", schema},
                                 {"status", status},
                                 {"workload", asked.of->name},
                                 {"contender", name_of(in.contenders()[asked.contender], asked.is_kept)},
                                 {"unit", asked.of->unit},
                                 {"parameters", parameters},
                                 {"malloc", malloc_in_use()}});
}

json counts_as_json(const std::vector<measure::count>& counts) {
    json all = json::object();
    for (const measure::count& each : counts) {
        all[each.name] =
            program::json_object({{"value", each.value ? json(*each.value) : json(nullptr)},
                                  {"why_null", each.value ? json(nullptr) : json(each.why_null)},
                                  {"running_share", each.value ? json(each.running_share) : json(nullptr)},
                                  {"counted_as", each.counted_as.empty() ? json(nullptr) : json(each.counted_as)}});
    }
    return all;
}

}  // namespace

std::string list_as_json(const suite& of) {
    json workloads = json::array();
    for (const workload* each : of.workloads) workloads.push_back(workload_as_json(of, *each));
    json contenders = json::array();
    for (const contender& each : of.contenders()) {
        contenders.push_back(contender_as_json(each, false));
        if (each.can_be_kept && each.from->is_built_in) contenders.push_back(contender_as_json(each, true));
    }
    return program::json_text(program::json_object({{"schema", schema},
                                                    {"suite", of.name},
                                                    {"compiler", compiler()},
                                                    {"standard_library", standard_library()},
                                                    {"malloc", malloc_in_use()},
                                                    {"workloads", workloads},
                                                    {"contenders", contenders}}),
                              1);
}

std::string round_as_json(const suite& in, const point& asked, const outcome& measured) {
    json line = head_of(in, asked, "ok");
    line["checksum"] = std::to_string(measured.checksum);
    const std::vector<metric> known = metrics_of(in, *asked.of);
    json metrics = json::object();
    json details = json::object();
    for (const metric& each : known) {
        if (each.by.empty()) metrics[std::string(each.name)] = nullptr;
    }
    for (const figure& each : measured.figures) {
        const bool is_metric =
            std::any_of(known.begin(), known.end(), [&](const metric& of) { return has(of, each.name); });
        (is_metric ? metrics : details)[each.name] = number_or_null(each.value);
    }
    line["metrics"] = metrics;
    line["details"] = details;
    if (!measured.counts.empty()) line["counters"] = counts_as_json(measured.counts);
    if (in.peer != nullptr && in.contenders()[asked.contender].name == in.peer->contender) {
        line["peer"] = in.peer->name();
        line["peer_version"] = in.peer->version();
    }
    return program::json_text(line, -1);
}

std::string failure_as_json(const suite& in, const point& asked, const char* status) {
    return program::json_text(head_of(in, asked, status), -1);
}

}  // namespace millpond::frame
