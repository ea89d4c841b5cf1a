// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/pair_costs.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lab/plan/strategy.hpp"
#include "lab/trial/compile_routes.hpp"
#include "lab/trial/control_file.hpp"
#include "lab/trial/launch.hpp"
#include "lab/trial/scratch_file.hpp"
#include "lab/trial/survey_loader.hpp"
#include "lab/trial/trial_error.hpp"

namespace millpond::trial {
namespace {

constexpr const char* pairs = "600000";
constexpr std::array strategies = {lab::strategy::multipool, lab::strategy::synchronized_multipool,
                                   lab::strategy::monotonic};

std::string routes_of(const lab::strategy tried, const survey& surveyed) {
    lab::plan plan;
    plan.program = {surveyed.processes.at(0).program.path, surveyed.processes.at(0).program.build_id};
    plan.routes = {{{lab::plan::everything_else}, "pairs", tried, false}};
    if (tried == lab::strategy::monotonic) plan.routes[0].scope = {lab::scope_kind::phase, ""};
    return compile_routes(plan, surveyed);
}

launch of_pairs(const std::string& by_hand) {
    const std::string here = trial_library_path();
    launch result;
    result.arguments = {here.substr(0, here.rfind("/lib/")) + "/bin/millpond-pairs", pairs};
    if (!by_hand.empty()) result.arguments.insert(result.arguments.end(), {"--by-hand", by_hand});
    result.stdin_path = result.stdout_path = "/dev/null";
    return result;
}

double seconds_of(const launch& started, variant mode, const std::string& routes) {
    measure::measurement found;
    if (routes.empty()) {
        found = run(started, "");
    } else {
        const control_file shared(mode);
        std::snprintf(shared->routes_path, sizeof shared->routes_path, "%s", routes.c_str());
        found = run(started, shared.path());
    }
    if (found.signal != 0 || found.exit_status != 0)
        throw trial_error(trial_error::environment_lacks, "millpond-pairs failed: is the installation whole?");
    return found.cpu_seconds();
}

}  // namespace

std::string measure_pair_costs(unsigned rounds) {
    const launch as_it_is = of_pairs("");
    const survey surveyed = survey_loader(as_it_is.arguments[0]);
    const std::array<scratch_file, strategies.size()> routes = {{scratch_file(routes_of(strategies[0], surveyed)),
                                                                 scratch_file(routes_of(strategies[1], surveyed)),
                                                                 scratch_file(routes_of(strategies[2], surveyed))}};
    std::map<std::string, std::vector<double>> excess;
    for (unsigned round = 0; round < rounds; ++round) {
        const double bare = seconds_of(as_it_is, variant::empty, "");
        const double looked_up = seconds_of(as_it_is, variant::looked_up, routes[0].path());
        for (std::size_t i = 0; i < strategies.size(); ++i) {
            const std::string name(lab::strategy_name(strategies[i]));
            const double tried = seconds_of(as_it_is, variant::plan, routes[i].path()) - looked_up + bare;
            const double by_hand = seconds_of(of_pairs(name), variant::empty, "");
            excess[name].push_back((tried - by_hand) / std::stod(pairs));
        }
    }
    nlohmann::ordered_json result;
    result["schema"] = "millpond.pair_costs/1";
    result["seconds"] = excess;
    return result.dump(2) + "\n";
}

}  // namespace millpond::trial
