// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/pair_costs.hpp"

#include <array>
#include <cstdio>
#include <fstream>
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
#include "preload/machine.hpp"

namespace millpond::trial {
namespace {

constexpr const char* pairs = "614400";  // 30 slices
// Few pairs a call, so that the cost of a call stands out.
constexpr unsigned pairs_a_batch = 512, pairs_a_call = 16;
constexpr const char* subsystem = "millpond::pairs::maker<millpond::pairs::from_malloc>";
constexpr const char* scope = "millpond::pairs::maker<millpond::pairs::from_malloc>::make_batch";
constexpr std::array strategies = {plan::strategy::multipool, plan::strategy::synchronized_multipool,
                                   plan::strategy::monotonic};

std::string routes_of(const plan::strategy tried, const plan::route_scope& its, const survey& surveyed) {
    plan::plan plan;
    plan.program = {surveyed.processes.at(0).program.path, surveyed.processes.at(0).program.build_id};
    // No other route: blocks that outlive the pairs would keep an arena from being reset.
    plan.routes = {{{subsystem}, "pairs", tried, false, its}};
    return compile_routes(plan, surveyed);
}

std::string routes_of(const plan::strategy tried, const survey& surveyed) {
    const bool is_arena = tried == plan::strategy::monotonic;
    return routes_of(tried, {.kind = is_arena ? plan::scope_kind::phase : plan::scope_kind::none, .function = ""},
                     surveyed);
}

std::string pairs_path() {
    const std::string here = trial_library_path();
    return here.substr(0, here.rfind("/lib/")) + "/bin/millpond-pairs";
}

struct ran {
    double excess_seconds = 0;  // of a pair from malloc, over one by hand
    double peak_bytes = 0;
    bool is_observed = false;  // calls were observed
};

// Runs malloc and the allocator of that strategy in turns.
ran run_once(const plan::strategy by_hand, variant mode, const std::string& routes, unsigned batch = pairs_a_batch) {
    const scratch_file output("");
    launch started;
    started.arguments = {pairs_path(),
                         pairs,
                         "--batch",
                         std::to_string(batch),
                         "--in-turns",
                         "--by-hand",
                         std::string(plan::strategy_name(by_hand))};
    started.stdin_path = "/dev/null";
    started.stdout_path = output.path();
    ran result;
    measure::measurement found;
    if (routes.empty()) {
        found = run(started, "");
    } else {
        const control_file shared(mode);
        std::snprintf(shared->routes_path, sizeof shared->routes_path, "%s", routes.c_str());
        found = run(started, shared.path(), routes_file(routes).scopes());
        if (mode == variant::plan) result.is_observed = totals_of(*shared, 0).calls > 0;
    }
    std::ifstream printed(output.path());
    if (found.signal != 0 || found.exit_status != 0 || !(printed >> result.excess_seconds))
        throw program::failure(program::environment, "millpond-pairs failed: is the installation whole?");
    result.peak_bytes = static_cast<double>(found.peak_bytes);
    return result;
}

}  // namespace

std::string measure_pair_costs(unsigned rounds) {
    const survey surveyed = survey_loader({pairs_path(), pairs});
    const std::array<scratch_file, strategies.size()> routes = {{scratch_file(routes_of(strategies[0], surveyed)),
                                                                 scratch_file(routes_of(strategies[1], surveyed)),
                                                                 scratch_file(routes_of(strategies[2], surveyed))}};
    // Without breakpoints no calls are observed, and their costs are left out.
    const plan::route_scope calls_of{.kind = plan::scope_kind::function, .function = scope};
    const scratch_file observed(preload::machine::has_probes ? routes_of(plan::strategy::monotonic, calls_of, surveyed)
                                                             : "");
    std::map<std::string, std::vector<double>> excess;
    std::vector<double> look_up_seconds, call_seconds, call_bytes;
    for (unsigned round = 0; round < rounds; ++round) {
        const double bare = run_once(strategies[0], variant::empty, "").excess_seconds;
        const double looked_up = run_once(strategies[0], variant::looked_up, routes[0].path()).excess_seconds;
        const double look_up = looked_up - bare;
        look_up_seconds.push_back(look_up);
        for (std::size_t i = 0; i < strategies.size(); ++i) {
            const double behind_malloc = run_once(strategies[i], variant::plan, routes[i].path()).excess_seconds;
            excess[std::string(plan::strategy_name(strategies[i]))].push_back(behind_malloc - look_up);
        }
        if (!preload::machine::has_probes) continue;
        // The last strategy is the one whose calls can be observed.
        const ran calls = run_once(strategies.back(), variant::plan, observed.path(), pairs_a_call);
        if (!calls.is_observed) continue;
        const ran without = run_once(strategies.back(), variant::plan, routes.back().path(), pairs_a_call);
        call_seconds.push_back((calls.excess_seconds - without.excess_seconds) * pairs_a_call);
        call_bytes.push_back(calls.peak_bytes - without.peak_bytes);
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
