// SPDX-License-Identifier: BSL-1.0
#include "candidate_plans.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "lab/files/aside_file.hpp"
#include "subsystem_json.hpp"

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

// A scope in which an arena may live: a function's name, or the scope of the thread.
struct arena_scope {
    bool is_thread = false;
    std::string function;
    auto operator<=>(const arena_scope&) const = default;

    [[nodiscard]] std::string name() const { return is_thread ? "thread" : function; }
    [[nodiscard]] json to_json() const { return is_thread ? json{{"thread", true}} : json{{"function", function}}; }
};

constexpr double objects_an_activation_min = 4;

// Of scopes in which an arena for a subsystem may live, the outermost that begins as often as the innermost, so that
// subsystems of one request share its arena. That is main only where there is no other. Where a scope was observed, one
// that was not says nothing.
std::optional<arena_scope> arena_scope_of(const characterisation& all, std::uint32_t subsystem) {
    std::optional<arena_scope> legal, unknown;
    double activations = 0;
    bool any_observed = false;
    for (const json& scope : legality_json(all, subsystem)) {
        const bool is_thread = scope.at("scope") == "thread";
        // For the one thread of a program that scope is the process, and nothing would ever be reset.
        if (is_thread && all.shares(subsystem).size() < 2) continue;
        const arena_scope found{is_thread, is_thread ? "" : scope.at("name").get<std::string>()};
        const std::string legality = scope.at("legality");
        const bool is_observed = scope.at("observed");
        any_observed |= is_observed && !is_thread;
        if (legality == scope_legality::not_disproved && (!unknown || found.function != "main")) unknown = found;
        if (legality != scope_legality::legal && legality != scope_legality::legal_outermost) continue;
        const auto times = scope.at("activations").get<double>();
        if (times * objects_an_activation_min > scope.at("total").get<double>()) continue;
        if (!legal) activations = times;
        const bool as_often = 2 * times >= activations;
        if (!legal || (as_often && !is_thread && found.function != "main")) legal = found;
    }
    // What runs in a thread for long is seldom alive for all of that time.
    if (legal && legal->is_thread && !any_observed && unknown) return unknown;
    return legal || any_observed ? legal : unknown;
}

struct candidate_arena {
    arena_scope scope;
    std::uint64_t bytes = 0;
    std::vector<std::string> owners;
};

std::vector<candidate_arena> candidate_arenas(const characterisation& all) {
    std::map<arena_scope, candidate_arena> by_scope;
    for (const std::uint32_t s : large_subsystems(all)) {
        const std::optional<arena_scope> scope = arena_scope_of(all, s);
        if (!scope) continue;
        candidate_arena& arena = by_scope[*scope];
        arena.scope = *scope;
        arena.bytes += all.analysis().subsystems()[s].bytes;
        const std::vector<std::string>& owners = all.subsystems().subsystems()[s].owners;
        arena.owners.insert(arena.owners.end(), owners.begin(), owners.end());
    }
    std::vector<candidate_arena> found;
    for (auto& [scope, arena] : by_scope) found.push_back(std::move(arena));
    std::stable_sort(found.begin(), found.end(),
                     [](const candidate_arena& a, const candidate_arena& b) { return a.bytes > b.bytes; });
    if (found.size() > candidate_arenas_max) found.resize(candidate_arenas_max);
    return found;
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
    std::size_t arenas = 0;
    for (const candidate_arena& arena : candidate_arenas(all)) {
        char number[16];
        std::snprintf(number, sizeof number, "arena-%02zu-", ++arenas);
        const json route = {{"subsystems", arena.owners},
                            {"pool", "arena of " + arena.scope.name()},
                            {"strategy", "monotonic"},
                            {"huge_pages", false},
                            {"scope", arena.scope.to_json()}};
        plans.push_back({number + slug(arena.scope.name()) + ".plan.json", plan(all, json::array({route}))});
    }
    return plans;
}

void write_candidate_plans(const std::vector<candidate_plan>& plans, const std::string& folder) {
    std::filesystem::create_directories(folder);
    for (const candidate_plan& one : plans)
        lab::write_whole(folder + "/" + one.file_name,
                         one.plan.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace millpond::characterise
