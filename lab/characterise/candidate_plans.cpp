// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/candidate_plans.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "lab/attribution/affine_groups.hpp"
#include "lab/characterise/subsystem_json.hpp"
#include "lab/plan/arena_bound.hpp"
#include "lab/plan/json_seal.hpp"
#include "lab/plan/plan.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "preload/word_position.hpp"

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

plan::route own_pool(const characterisation& all, std::uint32_t subsystem) {
    const symbols::subsystem_identity& identity = all.subsystems().subsystems()[subsystem];
    const bool several = all.shares(subsystem).size() > 1;
    return {identity.owners, identity.name,
            several ? plan::strategy::synchronized_multipool : plan::strategy::multipool, false};
}

// Returns the modules with functions of their own, without the executable. `millpond run` looks there for subsystems of
// libraries that are opened while the program runs. A relative path starts at the directory where the program was
// started, most likely this one.
std::vector<plan::program_identity> libraries_of(const characterisation& all) {
    std::vector<plan::program_identity> found;
    for (const trace::module_record& module : all.reader().modules()) {
        if (module.path.empty() || module.path == all.reader().process().executable) continue;
        if (symbols::is_standard_module(module.path)) continue;
        std::error_code absent;
        const std::filesystem::path whole = std::filesystem::canonical(module.path, absent);
        plan::program_identity library{absent ? module.path : whole.string(), module.build_id};
        const auto same = [&](const plan::program_identity& l) {
            return l.path == library.path && l.build_id == library.build_id;
        };
        if (std::none_of(found.begin(), found.end(), same)) found.push_back(std::move(library));
    }
    return found;
}

json plan_of(const characterisation& all, std::vector<plan::route> routes) {
    const trace::process_record& process = all.reader().process();
    return program::parse_json(
        plan::to_text({{process.executable, process.build_id}, std::move(routes), libraries_of(all)}));
}

std::vector<std::uint32_t> large_subsystems(const characterisation& all) {
    struct ranked_subsystem {
        double share;
        std::uint32_t subsystem;
    };
    std::vector<ranked_subsystem> large;
    for (const std::uint32_t s : all.order()) {
        const std::string& kind = all.subsystems().subsystems()[s].kind;
        if (kind == "module") continue;
        const double share = all.share(s);
        if (share >= large_share) large.push_back({share, s});
    }
    std::stable_sort(large.begin(), large.end(),
                     [](const ranked_subsystem& a, const ranked_subsystem& b) { return a.share > b.share; });
    if (large.size() > candidate_plans_max) large.resize(candidate_plans_max);
    std::vector<std::uint32_t> result;
    result.reserve(large.size());
    for (const ranked_subsystem& one : large) result.push_back(one.subsystem);
    return result;
}

// The scope that an arena's life may be tied to, and the function that names the arena.
struct arena_scope {
    plan::scope_kind kind;
    std::string around;
    bool outermost = false, observed = true;
    auto operator<=>(const arena_scope&) const = default;
};

constexpr double objects_an_activation_min = 4;

bool is_legal(const json& scope) {
    const std::string& legality = scope.at("legality").text();
    return legality == scope_legality::legal || legality == scope_legality::legal_outermost;
}

// Returns whether one activation allocates little more than is alive at a time. Otherwise an arena that ends with it
// would hold far too much, and an arena that is reset in between pays more.
bool is_bounded(const json& scope, std::uint64_t peak_live_bytes) {
    const json& most = scope.at("instance_bytes").at("max");
    if (!most.is_number()) return false;
    using bound = plan::arena_bound;
    return most.get<double>() <= static_cast<double>(std::max<std::uint64_t>(
                                     bound::held_bytes_min, bound::held_per_live_max * peak_live_bytes));
}

// Returns whether a trial may observe the calls of a function without changing the measurement.
bool can_observe(const characterisation& all, const json& scope) {
    constexpr double seconds_a_call = 1e-6, share_max = 0.05;
    const trace_totals& totals = all.counts().totals();
    const double seconds = all.seconds(totals.last_tick) - all.seconds(totals.first_tick);
    return scope.at("calls").get<double>() * seconds_a_call <= share_max * seconds;
}

arena_scope scope_of_calls(const characterisation& all, const json& scope, const std::string& function) {
    const bool outermost = scope.at("legality") == scope_legality::legal_outermost;
    return {plan::scope_kind::function, function, outermost, can_observe(all, scope)};
}

// Chooses among the legal functions the outermost that begins as often as the innermost, so that subsystems of one
// request share its arena; main only if there is no other. If the function was not observed, or one activation of it
// allocates far more than is alive, the arena is reset whenever nothing in it is alive. Without functions, the scope is
// the thread.
std::optional<arena_scope> arena_scope_of(const characterisation& all, std::uint32_t subsystem) {
    std::optional<arena_scope> function, phase, thread;
    double activations = 0;
    for (const json& scope : legality_json(all, subsystem)) {
        const std::string& name = scope.at("name").text();
        const std::string& legality = scope.at("legality").text();
        const bool is_left = legality != scope_legality::not_disproved && !is_legal(scope);
        const auto times = scope.at("activations").is_number() ? scope.at("activations").get<double>() : 0.0;
        if (is_left || times * objects_an_activation_min > scope.at("total").get<double>()) continue;
        // Objects alive at the program's end prevent the reset of a phase, and may be used after thread_local variables
        // are gone.
        const bool ends_empty = scope.at("running_at_end") == 0;
        if (scope.at("scope") == "thread") {
            // In a program with one thread that scope is the process, so an arena would never be reset.
            if (all.shares(subsystem).size() > 1 && ends_empty) thread = {plan::scope_kind::thread, "thread"};
        } else if (is_legal(scope) && is_bounded(scope, all.counts().subsystems()[subsystem].peak_bytes)) {
            if (!function) activations = times;
            const bool as_often = 2 * times >= activations && name != "main";
            if (!function || as_often) function = scope_of_calls(all, scope, name);
        } else if (ends_empty && (!phase || name != "main")) {
            phase = {plan::scope_kind::phase, name};
        }
    }
    return function ? function : phase ? phase : thread;
}

struct candidate_arena {
    arena_scope scope = {plan::scope_kind::phase, ""};
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
        arena.bytes += all.counts().subsystems()[s].bytes;
        const std::vector<std::string>& owners = all.subsystems().subsystems()[s].owners;
        arena.owners.insert(arena.owners.end(), owners.begin(), owners.end());
    }
    std::vector<candidate_arena> found;
    found.reserve(by_scope.size());
    for (auto& [scope, arena] : by_scope) found.push_back(std::move(arena));
    std::stable_sort(found.begin(), found.end(),
                     [](const candidate_arena& a, const candidate_arena& b) { return a.bytes > b.bytes; });
    if (found.size() > candidate_arenas_max) found.resize(candidate_arenas_max);
    return found;
}

// Finds the subsystem with this name in another trace of the program; none if it has no such subsystem.
std::optional<std::uint32_t> subsystem_named(const characterisation& in, const std::string& name) {
    const auto& all = in.subsystems().subsystems();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    if (found == all.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - all.begin());
}

// Returns the keys of the owners that the samples found for a subsystem, for a pool each. Empty if most of its call
// sites have no key.
std::vector<plan::instance_key> instances_of(const characterisation& all, std::uint32_t subsystem) {
    constexpr double keyed_share_min = 0.5;
    std::vector<plan::instance_key> keys;
    for (const characterisation* from : {&all, &all.observed()}) {
        const auto there = subsystem_named(*from, all.subsystems().subsystems()[subsystem].name);
        if (!keys.empty() || !from->owners() || !there || from->owners()->share_of(*there) < keyed_share_min) continue;
        for (const owner_key& key : from->owners()->keys_of(*there)) {
            if (key.module == 0) continue;
            const trace::module_record& module = from->reader().modules()[key.module - 1];
            keys.push_back({module.build_id.empty() ? module.path : module.build_id, key.offset,
                            preload::word_position::name(key.position)});
        }
    }
    return keys;
}

// Returns one pool for subsystems that are accessed together.
plan::route pool_of_group(const characterisation& all, const std::vector<std::uint32_t>& group) {
    plan::route shared = own_pool(all, group.front());
    for (const std::uint32_t s : group) {
        const plan::route own = own_pool(all, s);
        if (own.allocator != plan::strategy::multipool) shared.allocator = own.allocator;
        if (s == group.front()) continue;
        shared.subsystems.insert(shared.subsystems.end(), own.subsystems.begin(), own.subsystems.end());
        if (group.size() == 2) shared.pool += " with " + own.pool;
    }
    if (group.size() > 2) shared.pool += " with " + std::to_string(group.size() - 1) + " others";
    return shared;
}

// The same with blocks of all sizes in the order of allocation; none if that would hold far more than is alive.
std::optional<plan::route> arena_of_group(const characterisation& all, const std::vector<std::uint32_t>& group) {
    plan::route shared = pool_of_group(all, group);
    std::uint64_t bytes = 0, peak_live_bytes = 0;
    for (const std::uint32_t s : group) {
        bytes += all.counts().subsystems()[s].bytes;
        peak_live_bytes += all.counts().subsystems()[s].peak_bytes;
    }
    using bound = plan::arena_bound;
    if (shared.allocator != plan::strategy::multipool ||
        bytes > std::max<std::uint64_t>(bound::held_bytes_min, bound::held_per_live_max * peak_live_bytes))
        return std::nullopt;
    shared.allocator = plan::strategy::monotonic;
    shared.scope.kind = plan::scope_kind::phase;
    return shared;
}

// Returns a plan with a pool for each group of large subsystems, and one with arenas for the groups that allow them.
// Empty if no two subsystems are joined.
std::vector<candidate_plan> affinity_plans(const characterisation& all) {
    if (all.references() == nullptr) return {};
    const auto large = large_subsystems(all);
    const auto groups = attribution::affine_groups(all.references()->together(), large);
    if (groups.size() == large.size()) return {};
    std::vector<plan::route> pools, with_arenas;
    bool has_arena = false;
    for (const auto& group : groups) {
        pools.push_back(pool_of_group(all, group));
        const auto arena = group.size() > 1 ? arena_of_group(all, group) : std::nullopt;
        with_arenas.push_back(arena ? *arena : pools.back());
        has_arena = has_arena || arena;
    }
    std::vector<candidate_plan> plans{{"affinity.plan.json", plan_of(all, std::move(pools))}};
    if (has_arena) plans.push_back({"affinity-in-order.plan.json", plan_of(all, std::move(with_arenas))});
    return plans;
}

}  // namespace

std::vector<candidate_plan> candidate_plans(const characterisation& all) {
    std::vector<candidate_plan> plans;
    std::vector<plan::route> every;
    for (const std::uint32_t s : large_subsystems(all)) {
        char number[16];
        std::snprintf(number, sizeof number, "%02zu-", plans.size() + 1);
        every.push_back(own_pool(all, s));
        plans.push_back({number + slug(every.back().pool) + ".plan.json", plan_of(all, {every.back()})});
    }
    if (!plans.empty()) plans.push_back({"all.plan.json", plan_of(all, std::move(every))});
    for (candidate_plan& one : affinity_plans(all)) plans.push_back(std::move(one));
    std::size_t instances = 0;
    for (const std::uint32_t s : large_subsystems(all)) {
        std::vector<plan::instance_key> keys = instances_of(all, s);
        if (keys.empty() || instances == candidate_instances_max) continue;
        char number[20];
        std::snprintf(number, sizeof number, "instances-%02zu-", ++instances);
        plan::route route = own_pool(all, s);
        const std::string file_name = number + slug(route.pool) + ".plan.json";
        route.pool = "instances of " + route.pool;
        route.allocator = plan::strategy::multipool;
        route.instances = std::move(keys);
        plans.push_back({file_name, plan_of(all, {route})});
    }
    std::size_t arenas = 0;
    for (const auto& [scope, bytes, owners] : candidate_arenas(all)) {
        char number[16];
        std::snprintf(number, sizeof number, "arena-%02zu-", ++arenas);
        const bool is_function = scope.kind == plan::scope_kind::function;
        const plan::route arena{owners,
                                "arena of " + scope.around,
                                plan::strategy::monotonic,
                                false,
                                {scope.kind, is_function ? scope.around : "", scope.outermost, scope.observed}};
        plans.push_back({number + slug(scope.around) + ".plan.json", plan_of(all, {arena})});
    }
    return plans;
}

void write_candidate_plans(const std::vector<candidate_plan>& plans, const std::string& folder) {
    std::error_code refused;
    std::filesystem::create_directories(folder, refused);
    if (refused)
        throw program::failure(program::environment, "cannot write " + folder + ": " + refused.message() +
                                                         "; choose a place that can be written");
    for (const candidate_plan& one : plans)
        program::write_whole(folder + "/" + one.file_name, plan::sealed_text(program::json_text(one.plan)));
}

}  // namespace millpond::characterise
