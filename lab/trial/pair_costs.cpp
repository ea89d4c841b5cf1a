// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/pair_costs.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <vector>

#include "lab/plan/strategy.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/trial/compile_routes.hpp"
#include "lab/trial/control_file.hpp"
#include "lab/trial/launch.hpp"
#include "lab/trial/pool_totals.hpp"
#include "lab/trial/routes_file.hpp"
#include "lab/trial/scratch_file.hpp"
#include "lab/trial/survey_loader.hpp"

namespace millpond::trial {
namespace {

constexpr const char* pairs = "600000";
constexpr const char* subsystem = "millpond::pairs::maker<millpond::pairs::from_malloc>";
constexpr const char* scope = "millpond::pairs::maker<millpond::pairs::from_malloc>::make_batch";
constexpr std::array strategies = {plan::strategy::multipool, plan::strategy::synchronized_multipool,
                                   plan::strategy::monotonic};

std::string routes_of(const plan::strategy tried, const plan::route_scope& its, const survey& surveyed) {
    plan::plan plan;
    plan.program = {surveyed.processes.at(0).program.path, surveyed.processes.at(0).program.build_id};
    // Nothing else: what outlives the pairs would keep an arena from being reset.
    plan.routes = {{{subsystem}, "pairs", tried, false, its}};
    return compile_routes(plan, surveyed);
}

std::string routes_of(const plan::strategy tried, const survey& surveyed) {
    const bool is_arena = tried == plan::strategy::monotonic;
    return routes_of(tried, {.kind = is_arena ? plan::scope_kind::phase : plan::scope_kind::none, .function = ""},
                     surveyed);
}

launch of_pairs(const std::string& by_hand) {
    const std::string here = trial_library_path();
    launch result;
    result.arguments = {here.substr(0, here.rfind("/lib/")) + "/bin/millpond-pairs", pairs};
    if (!by_hand.empty()) result.arguments.insert(result.arguments.end(), {"--by-hand", by_hand});
    result.stdin_path = result.stdout_path = "/dev/null";
    return result;
}

struct ran {
    measure::measurement found;
    std::uint64_t calls = 0;  // observed

    [[nodiscard]] double seconds() const { return found.cpu_seconds(); }
};

ran run_once(const launch& started, variant mode, const std::string& routes) {
    ran result;
    if (routes.empty()) {
        result.found = run(started, "");
    } else {
        const control_file shared(mode);
        std::snprintf(shared->routes_path, sizeof shared->routes_path, "%s", routes.c_str());
        result.found = run(started, shared.path(), routes_file(routes).scopes());
        if (mode == variant::plan) result.calls = totals_of(*shared, 0).calls;
    }
    if (result.found.signal != 0 || result.found.exit_status != 0)
        throw program::failure(program::environment, "millpond-pairs failed: is the installation whole?");
    return result;
}

}  // namespace

std::string measure_pair_costs(unsigned rounds) {
    const launch as_it_is = of_pairs("");
    const survey surveyed = survey_loader(as_it_is.arguments);
    const std::array<scratch_file, strategies.size()> routes = {{scratch_file(routes_of(strategies[0], surveyed)),
                                                                 scratch_file(routes_of(strategies[1], surveyed)),
                                                                 scratch_file(routes_of(strategies[2], surveyed))}};
    const scratch_file observed(
        routes_of(plan::strategy::monotonic, {.kind = plan::scope_kind::function, .function = scope}, surveyed));
    std::map<std::string, std::vector<double>> excess;
    std::vector<double> look_up_seconds, call_seconds, call_bytes;
    for (unsigned round = 0; round < rounds; ++round) {
        const double bare = run_once(as_it_is, variant::empty, "").seconds();
        const double looked_up = run_once(as_it_is, variant::looked_up, routes[0].path()).seconds();
        look_up_seconds.push_back((looked_up - bare) / std::stod(pairs));
        ran last;
        for (std::size_t i = 0; i < strategies.size(); ++i) {
            const std::string name(plan::strategy_name(strategies[i]));
            last = run_once(as_it_is, variant::plan, routes[i].path());
            const double tried = last.seconds() - looked_up + bare;
            const double by_hand = run_once(of_pairs(name), variant::empty, "").seconds();
            excess[name].push_back((tried - by_hand) / std::stod(pairs));
        }
        // The last strategy is the one whose calls can be observed.
        const ran calls = run_once(as_it_is, variant::plan, observed.path());
        if (calls.calls == 0) continue;
        call_seconds.push_back((calls.seconds() - last.seconds()) / static_cast<double>(calls.calls));
        call_bytes.push_back(static_cast<double>(calls.found.peak_bytes) - static_cast<double>(last.found.peak_bytes));
    }
    program::json result;
    result["schema"] = "millpond.pair_costs/1";
    for (const auto& [name, seconds] : excess) result["seconds"][name] = seconds;
    result["look_up_seconds"] = look_up_seconds;
    result["call_seconds"] = call_seconds;
    result["call_bytes"] = call_bytes;
    return program::json_text(result) + "\n";
}

}  // namespace millpond::trial
