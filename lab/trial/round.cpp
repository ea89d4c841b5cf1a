// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/round.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "lab/program/aside_file.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/trial/control_file.hpp"
#include "lab/trial/pool_totals.hpp"
#include "lab/trial/routes_file.hpp"

namespace millpond::trial {
namespace {

using program::json;

// Without "bare", which needs no library at all.
const std::map<std::string, variant> variants = {{"empty", variant::empty},
                                                 {"shared", variant::shared},
                                                 {"shared_huge", variant::shared_huge},
                                                 {"looked_up", variant::looked_up},
                                                 {"plan", variant::plan}};

template <std::size_t Size>
void copy_text(char (&to)[Size], const std::string& from, const char* what) {
    if (from.size() >= Size) throw program::failure(program::usage, std::string(what) + " is too long: " + from);
    std::copy(from.begin(), from.end(), to);
}

std::string absolute(const std::string& path) {
    char* const resolved = ::realpath(path.c_str(), nullptr);
    if (resolved == nullptr) throw program::failure(program::input, path + ": cannot be read");
    std::string result(resolved);
    std::free(resolved);
    return result;
}

json pools_json(const control& shared, const std::vector<std::string>& names) {
    json result = json::array();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const pool_totals sum = totals_of(shared, i);
        result.push_back(program::json_object({{"pool", names[i]},
                                               {"allocations", sum.allocations},
                                               {"deallocations", sum.deallocations},
                                               {"remote_deallocations", sum.remote_deallocations},
                                               {"refused_thread", sum.refused_thread},
                                               {"held_bytes", sum.held_bytes},
                                               {"slab_bytes", sum.slab_bytes},
                                               {"resets", sum.resets},
                                               {"calls", sum.calls},
                                               {"outlived_calls", sum.outlived_calls},
                                               {"trapped_calls", sum.trapped_calls},
                                               {"capped_bytes", sum.capped_bytes},
                                               {"capped_live_bytes", sum.capped_live_bytes}}));
    }
    return result;
}

json router_json(const control& shared, const std::vector<std::string>& pool_names) {
    std::vector<const process_slot*> routed;
    const std::size_t claimed = std::min<std::size_t>(shared.slots_claimed, control::slots);
    routed.reserve(claimed);
    for (std::size_t i = 0; i < claimed; ++i) routed.push_back(&shared.processes[i]);
    thread_counters sum{};
    std::uint64_t nodes = 0, modules = 0, unlisted = 0, range = 0;
    bool own_malloc = false;
    for (const process_slot* slot : routed) {
        for (const thread_counters& line : slot->threads) {
            sum.walks += line.walks;
            sum.misses += line.misses;
            sum.passed_large += line.passed_large;
            sum.passed_unrouted += line.passed_unrouted;
            sum.passed_refused += line.passed_refused;
        }
        nodes = std::max(nodes, slot->nodes);
        modules = std::max(modules, slot->module_count);
        unlisted = std::max(unlisted, slot->module_misses);
        range = std::max(range, slot->range_bytes);
        own_malloc |= slot->malloc_in_executable != 0;
    }
    json result;
    result["processes"] = shared.slots_claimed;
    result["other_processes"] = shared.other_processes;
    result["malloc"] = routed.empty() ? "" : routed.front()->provider;
    result["malloc_in_executable"] = own_malloc;
    result["walks"] = sum.walks;
    result["look_up_misses"] = sum.misses;
    result["passed"] = program::json_object(
        {{"large", sum.passed_large}, {"unrouted", sum.passed_unrouted}, {"refused", sum.passed_refused}});
    result["context_nodes"] = nodes;
    result["modules"] = modules;
    result["unlisted_modules"] = unlisted;
    result["range_bytes"] = range;
    result["pools"] = pools_json(shared, pool_names);
    return result;
}

json result_json(const std::string& variant_name, const measure::measurement& m) {
    json result;
    result["schema"] = "millpond.round/1";
    result["variant"] = variant_name;
    result["cpu_seconds"] = m.cpu_seconds();
    result["user_seconds"] = m.user_seconds;
    result["system_seconds"] = m.system_seconds;
    result["wall_seconds"] = m.wall_seconds;
    result["peak_bytes"] = m.peak_bytes;
    result["page_faults"] = m.page_faults;
    result["major_faults"] = m.major_faults;
    result["exit_status"] = m.signal == 0 ? json(m.exit_status) : json(nullptr);
    result["signal"] = m.signal;
    return result;
}

}  // namespace

bool is_variant(const std::string& name) { return name == "bare" || variants.contains(name); }

void run_round(const round_request& request) {
    program::prove_writable(request.result_path);
    std::unique_ptr<routes_file> routes;
    if (!request.routes_path.empty()) routes = std::make_unique<routes_file>(request.routes_path);
    const auto found = variants.find(request.variant_name);
    json result;
    if (found == variants.end()) {
        result = result_json(request.variant_name, run(request.launched, ""));
        result["router"] = nullptr;
    } else {
        if (found->second == variant::plan && routes == nullptr)
            throw program::failure(program::usage, "the variant plan needs --routes, the compiled plan");
        const control_file shared(found->second);
        if (routes != nullptr) copy_text(shared->routes_path, absolute(request.routes_path), "the path of --routes");
        copy_text(shared->image_build_id, routes != nullptr ? routes->program_build_id() : request.image_build_id,
                  "the build-id");
        std::vector<std::string> names = {"shared"};
        if (found->second == variant::plan) names = routes->pool_names();
        if (found->second == variant::empty || found->second == variant::looked_up) names.clear();
        const std::string scopes = found->second == variant::plan ? routes->scopes() : "";
        routes.reset();  // before the fork: this process's memory is the floor of the program's peak memory
        result = result_json(request.variant_name, run(request.launched, shared.path(), scopes));
        result["router"] = router_json(*shared, names);
    }
    program::write_whole(request.result_path, program::json_text(result) + "\n");
}

}  // namespace millpond::trial
