// SPDX-License-Identifier: BSL-1.0
// Writes rows of counts as JSON, and JSON as a table.
#include "lab/simulate/results.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "lab/program/json.hpp"
#include "lab/simulate/report.hpp"
#include "lab/simulate/time_model.hpp"

namespace millpond::simulate {
namespace {

using program::json;

// Returns a number of a document as text.
std::string text_of(const json& number) { return program::json_text(number); }

constexpr const char* origins[] = {"program", "allocator", "system"};

void add_place(json& to, const count_row& row) {
    if (row.level != 0) to["level"] = row.level;
    if (row.cache_bytes != 0) to["cache_bytes"] = row.cache_bytes;
    if (row.sets != 0) to["sets"] = row.sets;
    if (row.ways != 0) to["ways"] = row.ways;
    if (row.line_bytes != 0) to["line_bytes"] = row.line_bytes;
    if (row.origin != any) to["origin"] = origins[row.origin];
    if (row.subject != any) to["subject"] = row.subject;
}

struct one_simulator {
    json metrics = json::array(), curve = json::array(), time = json::array();
    const input_facts* input;
    const std::vector<double>* penalties;
    const burst_sample* sample;  // null: the recording is whole
    std::size_t number = 0;      // of this simulator
    std::size_t miss_rows = 0;
};

json whole_json(const whole_misses& of) {
    return program::json_object({{"value", std::llround(of.value)},
                                 {"low", std::llround(of.low)},
                                 {"high", std::llround(of.high)},
                                 {"level", 0.95},
                                 {"with_empty_caches", std::llround(of.with_empty_caches)}});
}

void add_row(one_simulator& to, const count_row& row) {
    if (std::string_view(row.metric) == "at_distance") {
        to.curve.push_back(json::array({row.distance, row.value}));
        return;
    }
    json metric = program::json_object({{"metric", row.metric}, {"unit", row.unit}, {"value", row.value}});
    add_place(metric, row);
    const bool is_misses = std::string_view(row.metric) == "misses";
    if (is_misses && to.sample != nullptr) {
        if (const auto whole = to.sample->whole(to.number, to.miss_rows++)) metric["whole"] = whole_json(*whole);
    }
    if (is_misses && to.input->instructions != 0) {
        for (const double penalty : *to.penalties) {
            json time = program::json_object({{"metric", "time"},
                                              {"unit", "cycles"},
                                              {"value", time_cycles(to.input->instructions, row.value, penalty)},
                                              {"miss_penalty_cycles", penalty}});
            add_place(time, row);
            to.time.push_back(std::move(time));
        }
    }
    to.metrics.push_back(std::move(metric));
}

json rules_json(const millpond_rules& rules) {
    return program::json_object({{"straddling_access", rules.straddle_twice != 0 ? "twice" : "once"},
                                 {"modification", rules.modify_twice != 0 ? "twice" : "once"},
                                 {"access_bytes_max", rules.bytes_max},
                                 {"flush_references", rules.flush_references},
                                 {"flush_instructions", rules.flush_instructions}});
}

std::string in_units(std::uint64_t bytes) {
    for (const auto& [unit, letter] : {std::pair(std::uint64_t{1} << 30, 'G'), {1u << 20, 'M'}, {1u << 10, 'K'}}) {
        if (bytes >= unit && bytes % unit == 0) return std::to_string(bytes / unit) + letter;
    }
    return std::to_string(bytes);
}

std::string place_of(const json& metric) {
    std::string text;
    if (metric.contains("level")) text += "level " + text_of(metric["level"]) + " ";
    if (metric.contains("cache_bytes")) text += in_units(metric["cache_bytes"].get<std::uint64_t>()) + " ";
    if (metric.contains("sets")) text += text_of(metric["sets"]) + " x " + text_of(metric["ways"]) + " ";
    if (metric.contains("origin")) text += "of " + metric["origin"].get<std::string>() + " ";
    if (metric.contains("subject")) text += "subject " + text_of(metric["subject"]) + " ";
    return text;
}

std::string line_of(const json& metric, double references) {
    std::array<char, 160> line{};
    const auto value = static_cast<double>(metric["value"].get<std::uint64_t>());
    const std::string name = metric["metric"].get<std::string>(), unit = metric["unit"].get<std::string>();
    if (unit == "references" && name != "references" && references > 0)
        std::snprintf(line.data(), line.size(), "  %-20s %-36s %16.0f %s  %9.4f %%\n", name.c_str(),
                      place_of(metric).c_str(), value, unit.c_str(), 100 * value / references);
    else
        std::snprintf(line.data(), line.size(), "  %-20s %-36s %16.0f %s\n", name.c_str(), place_of(metric).c_str(),
                      value, unit.c_str());
    std::string text = line.data();
    if (metric.contains("whole")) {
        const json& whole = metric["whole"];
        std::snprintf(line.data(), line.size(), "    of the whole run %57.0f  (%.0f to %.0f; emptied %.0f)\n",
                      whole["value"].get<double>(), whole["low"].get<double>(), whole["high"].get<double>(),
                      whole["with_empty_caches"].get<double>());
        text += line.data();
    }
    return text;
}

// Returns the misses at the powers of two of a curve; the document has every point.
std::string curve_lines(const json& simulator, double references) {
    std::string text;
    const auto block = simulator["metrics"][0]["line_bytes"].get<std::uint64_t>();
    double beyond = references;
    std::uint64_t blocks = 1;
    const auto line = [&] {
        text += line_of(program::json_object({{"metric", "misses"},
                                              {"unit", "references"},
                                              {"value", static_cast<std::uint64_t>(beyond)},
                                              {"cache_bytes", blocks * block}}),
                        references);
        blocks *= 2;
    };
    for (const json& point : simulator["curve"]) {
        while (point[0].get<std::uint64_t>() >= blocks) line();
        beyond -= point[1].get<double>();
    }
    line();
    return text;
}

// Adds, behind the misses of each cache, the times in cycles an instruction, by penalty.
std::string lines_with_times(const json& simulator, double references, double instructions) {
    const json no_times = json::array();
    const json& times = simulator.contains("time") ? simulator["time"] : no_times;
    std::string text;
    auto time = times.begin();
    for (const json& metric : simulator["metrics"]) {
        std::string line = line_of(metric, references);
        if (metric["metric"] == "misses" && time != times.end()) {
            line.pop_back();
            line += "  (";
            const json first = (*time)["miss_penalty_cycles"];
            do {
                std::array<char, 64> column{};
                std::snprintf(column.data(), column.size(), " %.3f", (*time)["value"].get<double>() / instructions);
                line += column.data();
            } while (++time != times.end() && (*time)["miss_penalty_cycles"] != first);
            line += " )\n";
        }
        text += line;
    }
    return text;
}

// Returns the heading of the time columns of lines_with_times; empty without times.
std::string penalties_line(const json& results) {
    for (const json& simulator : results["simulators"]) {
        if (!simulator.contains("time")) continue;
        std::string text = "(cycles an instruction, I + (M x P) x D, where a miss costs P =";
        const json first = simulator["time"][0]["miss_penalty_cycles"];
        for (std::size_t i = 0; i < simulator["time"].size(); ++i) {
            const json& penalty = simulator["time"][i]["miss_penalty_cycles"];
            if (i > 0 && penalty == first) break;
            std::array<char, 32> number{};
            std::snprintf(number.data(), number.size(), " %g", penalty.get<double>());
            text += number.data();
        }
        return text + " cycles)\n";
    }
    return "";
}

}  // namespace

std::vector<references::simulator_counts> counts_of(const millpond_simulation* simulation) {
    std::vector<references::simulator_counts> all(millpond_simulation_size(simulation));
    const auto add = [](void* to, const count_row* row) {
        static_cast<std::vector<millpond_count>*>(to)->push_back(*row);
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].description = millpond_simulation_description(simulation, i);
        millpond_simulation_report(simulation, i, add, &all[i].rows);
    }
    return all;
}

static json layout_json(const std::string& played, const layout::moved_totals& moved) {
    return program::json_object({{"played", played},
                                 {"calls", moved.calls},
                                 {"moved_references", moved.program.moved},
                                 {"beside_objects", moved.program.beside},
                                 {"unplaced_references", moved.program.unplaced},
                                 {"left_out_references", moved.program.left_out},
                                 {"allocator_references", moved.allocator_references},
                                 {"allocator_instructions", moved.allocator_instructions}});
}

json results_json(const std::vector<references::simulator_counts>& all, const input_facts& input,
                  const millpond_rules& rules, const std::vector<double>& penalties, const burst_sample* sample) {
    json simulators = json::array();
    for (const references::simulator_counts& each : all) {
        one_simulator found;
        found.input = &input;
        found.penalties = &penalties;
        found.sample = sample;
        found.number = simulators.size();
        for (const count_row& row : each.rows) add_row(found, row);
        json one = program::json_object({{"description", each.description}, {"metrics", std::move(found.metrics)}});
        if (!found.curve.empty()) one["curve"] = std::move(found.curve);
        if (!found.time.empty()) one["time"] = std::move(found.time);
        simulators.push_back(std::move(one));
    }
    json about = program::json_object({{"path", input.path},
                                       {"format", input.format},
                                       {"instructions", input.instructions},
                                       {"references", input.loads + input.stores + input.modifications},
                                       {"loads", input.loads},
                                       {"stores", input.stores},
                                       {"modifications", input.modifications}});
    if ((input.format == "recording" || input.format == "counts") && !input.moved)
        about["allocator_instructions"] = input.allocator_instructions;  // for a layout, `layout` has them
    if (sample != nullptr) {
        about["bursts"] = sample->bursts();
        about["instructions_not_captured"] = sample->instructions_not_captured();
    }
    if (input.moved) about["layout"] = layout_json(input.played, *input.moved);
    if (!input.partial.empty()) about["partial"] = input.partial;
    for (const trace::damage& known : input.damages)
        about["damages"].push_back(program::json_object({{"offset", known.offset}, {"what", known.what}}));
    return program::json_object({{"schema", "millpond.simulation/1"},
                                 {"input", std::move(about)},
                                 {"rules", rules_json(rules)},
                                 {"simulators", std::move(simulators)}});
}

std::string results_table(const json& results) {
    const json& input = results["input"];
    std::string text = input["path"].get<std::string>() + " (" + input["format"].get<std::string>() +
                       "): " + text_of(input["references"]) + " references, " + text_of(input["instructions"]) +
                       " instructions\n" + penalties_line(results);
    if (input.contains("partial")) text += "partial: " + input["partial"].get<std::string>() + "\n";
    if (input.contains("damages"))
        text += "damaged in " + std::to_string(input["damages"].size()) + " places, the first at offset " +
                text_of(input["damages"][0]["offset"]) + ": the damaged parts are left out\n";
    if (input.contains("bursts"))
        text +=
            text_of(input["bursts"]) + " bursts; " + text_of(input["instructions_not_captured"]) +
            " instructions were not captured. Misses of the whole run are estimates: 95 % interval; \"emptied\": the "
            "estimate if each burst began with empty caches\n";
    if (input.contains("layout"))
        text += "on the allocator of " + input["layout"]["played"].get<std::string>() + ", which made " +
                text_of(input["layout"]["allocator_references"]) + " of these references itself; " +
                text_of(input["layout"]["unplaced_references"]) + " lie outside the heap, modules and stacks\n";
    for (const json& simulator : results["simulators"]) {
        text += "\n" + simulator["description"].get<std::string>() + "\n";
        double references = 0;
        for (const json& metric : simulator["metrics"]) {
            if (metric["metric"] == "references" && !metric.contains("subject"))
                references += metric["value"].get<double>();
        }
        text += lines_with_times(simulator, references, input["instructions"].get<double>());
        if (simulator.contains("curve")) text += curve_lines(simulator, references);
    }
    return text;
}

}  // namespace millpond::simulate
