// SPDX-License-Identifier: BSL-1.0
#include "candidate_plans.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>

#include "lab/files/aside_file.hpp"

namespace millpond::characterise {
namespace {

constexpr double large_share = 0.01;

std::string slug(const std::string& name) {
    constexpr std::size_t letters_max = 48;
    std::string result;
    for (const char letter : name) {
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_')
            result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        else if (!result.empty() && result.back() != '-')
            result += '-';
        if (result.size() == letters_max) break;
    }
    while (!result.empty() && result.back() == '-') result.pop_back();
    return result.empty() ? "subsystem" : result;
}

json route(const characterisation& all, std::uint32_t subsystem) {
    const symbols::subsystem_identity& identity = all.subsystems().subsystems()[subsystem];
    const bool several = all.shares(subsystem).size() > 1;
    return {{"subsystems", identity.owners},
            {"pool", identity.name},
            {"strategy", several ? "synchronized(multipool)" : "multipool"},
            {"huge_pages", false}};
}

json plan(const characterisation& all, json routes) {
    const trace::process_record& process = all.reader().process();
    return {{"schema", "millpond.plan/1"},
            {"program", {{"path", process.executable}, {"build_id", process.build_id}}},
            {"routes", std::move(routes)}};
}

std::vector<std::uint32_t> large_subsystems(const characterisation& all) {
    const trace_totals& totals = all.analysis().totals();
    struct ranked {
        double share;
        std::uint32_t subsystem;
    };
    std::vector<ranked> large;
    for (const std::uint32_t s : all.order()) {
        const std::string& kind = all.subsystems().subsystems()[s].kind;
        if (kind == "module") continue;
        const subsystem_counts& counts = all.analysis().subsystems()[s];
        const auto events = static_cast<double>(counts.events());
        const double share =
            std::max(events / static_cast<double>(std::max<std::uint64_t>(1, totals.events)),
                     static_cast<double>(counts.bytes) / static_cast<double>(std::max<std::uint64_t>(1, totals.bytes)));
        if (share >= large_share) large.push_back({share, s});
    }
    std::stable_sort(large.begin(), large.end(), [](const ranked& a, const ranked& b) { return a.share > b.share; });
    if (large.size() > candidate_plans_max) large.resize(candidate_plans_max);
    std::vector<std::uint32_t> result;
    for (const ranked& one : large) result.push_back(one.subsystem);
    return result;
}

}  // namespace

std::vector<candidate_plan> candidate_plans(const characterisation& all) {
    std::vector<candidate_plan> plans;
    json every = json::array();
    for (const std::uint32_t s : large_subsystems(all)) {
        char number[16];
        std::snprintf(number, sizeof number, "%02zu-", plans.size() + 1);
        json alone = json::array({route(all, s)});
        every.push_back(alone.front());
        plans.push_back(
            {number + slug(all.subsystems().subsystems()[s].name) + ".plan.json", plan(all, std::move(alone))});
    }
    if (!plans.empty()) plans.push_back({"all.plan.json", plan(all, std::move(every))});
    return plans;
}

void write_candidate_plans(const std::vector<candidate_plan>& plans, const std::string& folder) {
    std::filesystem::create_directories(folder);
    for (const candidate_plan& one : plans)
        lab::write_whole(folder + "/" + one.file_name,
                         one.plan.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace millpond::characterise
