// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/survey.hpp"

#include <algorithm>
#include <cstring>

#include "lab/plan/strict_json.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/trial/control_file.hpp"

namespace millpond::trial {
namespace {

using program::json;

constexpr std::size_t survey_bytes_max = 256u << 20;

json to_json(const surveyed_module& module) {
    return program::json_object({{"path", module.path}, {"build_id", module.build_id}});
}

surveyed_module module_from(const program::json& json) {
    return {json.at("path").get<std::string>(), json.at("build_id").get<std::string>()};
}

void add_modules(const control& shared, survey& result) {
    const std::size_t used = std::min<std::size_t>(shared.survey_used, control::survey_bytes);
    for (std::size_t at = 0; at + sizeof(survey_record) < used;) {
        survey_record record;
        std::memcpy(&record, shared.survey + at, sizeof record);
        // A process killed in the middle leaves a record that is not ready and may lack its length.
        if (record.bytes < sizeof record || record.bytes > used - at) {
            result.complete = false;
            return;
        }
        const char* const text = shared.survey + at + sizeof record;
        at += record.bytes;
        if (record.ready == 0 || record.slot >= result.processes.size()) {
            result.complete = false;
            continue;
        }
        const surveyed_module module{text, text + std::strlen(text) + 1};
        auto& known = result.processes[record.slot].modules;
        const auto same = [&](const surveyed_module& m) {
            return m.path == module.path && m.build_id == module.build_id;
        };
        if (std::none_of(known.begin(), known.end(), same)) known.push_back(module);
    }
}

}  // namespace

survey run_survey(const launch& launched) {
    const control_file shared(variant::survey);
    run(launched, shared.path());
    survey result;
    const std::size_t claimed = std::min<std::size_t>(shared->slots_claimed, control::slots);
    for (std::size_t i = 0; i < claimed; ++i) {
        const process_slot& slot = shared->processes[i];
        result.processes.push_back({slot.pid, {slot.identity.executable, slot.identity.build_id}, {}});
    }
    result.complete = shared->slots_claimed <= control::slots && shared->survey_full == 0;
    add_modules(*shared, result);
    return result;
}

std::string to_text(const survey& printed) {
    json root;
    root["schema"] = survey::schema;
    root["complete"] = printed.complete;
    root["processes"] = json::array();
    for (const surveyed_process& process : printed.processes) {
        json modules = json::array();
        for (const surveyed_module& module : process.modules) modules.push_back(to_json(module));
        root["processes"].push_back(
            program::json_object({{"pid", process.pid}, {"program", to_json(process.program)}, {"modules", modules}}));
    }
    return program::json_text(root) + "\n";
}

survey read_survey(const std::string& path) {
    try {
        const program::json root = plan::parse_strict(program::read_regular(path, survey_bytes_max));
        if (root.at("schema") != survey::schema)
            throw program::failure(program::input, path + ": schema is not \"" + survey::schema + "\"");
        survey result;
        result.complete = !root.contains("complete") || root["complete"].get<bool>();
        for (const program::json& process : root.at("processes")) {
            surveyed_process& read = result.processes.emplace_back();
            read.pid = process.contains("pid") ? process["pid"].get<int>() : 0;
            read.program = module_from(process.at("program"));
            for (const program::json& module : process.at("modules")) read.modules.push_back(module_from(module));
        }
        return result;
    } catch (const program::failure&) {
        throw;
    } catch (const std::exception& error) {
        throw program::failure(program::input, path + ": not a list of modules: " + plan::short_reason(error) +
                                                   "; `millpond-trial --survey` writes one");
    }
}

}  // namespace millpond::trial
