// SPDX-License-Identifier: BSL-1.0
#include "lab/plan/pool_choice.hpp"

#include <map>
#include <set>
#include <stdexcept>

#include "lab/plan/near_names.hpp"
#include "lab/program/program.hpp"
#include "lab/symbols/debug_file.hpp"
#include "lab/symbols/module_functions.hpp"

namespace millpond::plan {
namespace {

void check_build(const trace::process_record& process, const plan& chosen) {
    const bool same = chosen.program.build_id.empty() ? chosen.program.path == process.executable
                                                      : chosen.program.build_id == process.build_id;
    if (same && chosen.program.known()) return;
    const program_identity recorded{process.executable, process.build_id};
    const std::string what = chosen.program.known()
                                 ? "the plan belongs to " + chosen.program.described()
                                 : "the plan does not say to which program it belongs: program.path and "
                                   "program.build_id are empty";
    throw program::failure(program::input, what + ", and the trace is of " + recorded.described());
}

// Returns every owner that a plan may name: those of the trace, and those of its modules' functions that never
// allocated.
std::set<std::string> owners_of_modules(const trace::reader& reader) {
    std::set<std::string> names{"[generated code]", "[unknown]"};
    for (const trace::module_record& module : reader.modules()) {
        try {
            const symbols::module_functions functions(symbols::module_file(module.path));
            names.insert(functions.name());
            for (const symbols::function& f : functions.all()) names.insert(f.owner);
        } catch (const std::runtime_error&) {
            // The module is gone, so only the trace may know its owners.
        }
    }
    return names;
}

}  // namespace

pool_choice::pool_choice(const trace::reader& reader) {
    map_subsystems(reader);
    pool_of_subsystem_.assign(map_->subsystems().size(), undecided);
}

pool_choice::pool_choice(const trace::reader& reader, const plan& chosen, bool plays_arenas) : of_a_plan_(true) {
    check_build(reader.process(), chosen);
    map_subsystems(reader);
    check_names(reader, chosen);
    std::map<std::string, std::uint16_t> pool_of_name, pool_of_owner;
    std::uint16_t pool_of_others = malloc_pool;
    for (const route& each : chosen.routes) {
        const bool is_arena = each.allocator == strategy::monotonic;
        if (is_arena && !(plays_arenas && each.scope.kind == scope_kind::phase))
            throw program::failure(program::usage, "the pool \"" + each.pool +
                                                       "\" is an arena for a scope, which no replay can reset; "
                                                       "`millpond trial` tries it on the program");
        if (!each.instances.empty())
            throw program::failure(program::usage, "the pool \"" + each.pool +
                                                       "\" has a pool for each instance, whose owners no trace has; "
                                                       "`millpond trial` tries it on the program");
        const auto [found, fresh] = pool_of_name.try_emplace(each.pool, static_cast<std::uint16_t>(pools_.size()));
        const bool one_thread = is_arena || each.allocator == strategy::multipool;
        if (fresh)
            pools_.push_back(
                {each.pool, std::string(strategy_name(each.allocator)), one_thread, 0, 0, 0, false, is_arena});
        for (const std::string& subsystem : each.subsystems) {
            if (subsystem == plan::everything_else)
                pool_of_others = found->second;
            else
                pool_of_owner[subsystem] = found->second;
        }
    }
    for (const symbols::subsystem_identity& subsystem : map_->subsystems()) {
        const auto found = pool_of_owner.find(subsystem.name);
        pool_of_subsystem_.push_back(found == pool_of_owner.end() ? pool_of_others : found->second);
    }
}

void pool_choice::map_subsystems(const trace::reader& reader) {
    functions_ = std::make_unique<symbols::context_functions>(reader.contexts(), reader.modules());
    map_ = std::make_unique<symbols::subsystem_map>(*functions_, std::vector<symbols::owner_group>{});
    contexts_ = static_cast<std::uint32_t>(reader.contexts().size());
}

void pool_choice::check_names(const trace::reader& reader, const plan& chosen) const {
    std::set<std::string> unknown;
    for (const route& each : chosen.routes)
        for (const std::string& name : each.subsystems)
            if (name != plan::everything_else) unknown.insert(name);
    for (const symbols::subsystem_identity& known : map_->subsystems()) unknown.erase(known.name);
    if (unknown.empty()) return;
    const std::set<std::string> owners = owners_of_modules(reader);
    for (const std::string& subsystem : unknown) {
        if (owners.contains(subsystem)) continue;  // it exists and did not allocate here
        std::string message = "no function of the program's modules belongs to the subsystem \"" + subsystem + "\"";
        std::vector<std::string> known(owners.begin(), owners.end());
        for (const symbols::subsystem_identity& other : map_->subsystems()) known.push_back(other.name);
        const std::vector<std::string> near = near_names(subsystem, known);
        for (const std::string& name : near) message += (name == near.front() ? "; near it: \"" : ", \"") + name + "\"";
        throw program::failure(program::usage, message);
    }
}

std::uint16_t pool_choice::add(std::uint32_t subsystem) {
    if (pools_.size() > pools_max)
        throw program::failure(program::environment, "the trace has more subsystems than a replay has pools (" +
                                                         std::to_string(pools_max) + ")");
    pools_.push_back({map_->subsystems()[subsystem].name, "", false, 0, 0, 0, false, false});
    return static_cast<std::uint16_t>(pools_.size() - 1);
}

std::uint16_t pool_choice::admit(std::uint16_t wanted, const trace::event& e) {
    if (wanted == malloc_pool) return malloc_pool;
    pool& chosen = pools_[wanted];
    if (of_a_plan_) {
        if (e.bytes - 1 >= pooled_bytes_max || e.alignment_log2 > pooled_alignment_log2_max) return malloc_pool;
        if (chosen.one_thread && chosen.first_thread != 0 && chosen.first_thread != e.thread) {
            ++chosen.refused;
            return malloc_pool;
        }
    }
    if (chosen.first_thread == 0)
        chosen.first_thread = e.thread;
    else if (chosen.first_thread != e.thread)
        chosen.shared = true;
    ++chosen.objects;
    return wanted;
}

}  // namespace millpond::plan
