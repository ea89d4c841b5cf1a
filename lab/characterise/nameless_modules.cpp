// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/nameless_modules.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/program/json.hpp"
#include "lab/symbols/debug_file.hpp"
#include "lab/symbols/elf_file.hpp"

namespace millpond::characterise {
namespace {

struct hidden_counts {
    std::uint64_t events = 0, bytes = 0, near_events = 0;
};

std::string why_hidden(const characterisation& all, const std::string& path) {
    for (const symbols::unreadable_module& module : all.functions().unreadable()) {
        if (module.path == path) return module.reason;
    }
    try {
        const std::string place = symbols::module_file(path);
        return symbols::find_debug_file(symbols::elf_file(place), place).why;
    } catch (const std::exception& error) {
        return error.what();
    }
}

std::string build_id_of(const characterisation& all, const std::string& path) {
    for (const trace::module_record& module : all.reader().modules()) {
        if (module.path == path) return module.build_id;
    }
    return {};
}

}  // namespace

void add_name_facts(json& facts, const characterisation& all) {
    std::uint64_t owned = 0, named = 0, near = 0;
    std::map<std::string, hidden_counts> by_module;
    for (const std::uint32_t s : all.order()) {
        const symbols::subsystem_identity& identity = all.subsystems().subsystems()[s];
        const subsystem_counts& counts = all.counts().subsystems()[s];
        owned += counts.events();
        if (identity.named) named += counts.events();
        if (identity.named) continue;
        const std::uint64_t near_events = identity.near.empty() ? 0 : counts.events();
        near += near_events;
        // Groups may join several modules.
        if (identity.modules.size() != 1) continue;
        hidden_counts& hidden = by_module[identity.modules.front()];
        hidden.events += counts.events();
        hidden.bytes += counts.bytes;
        hidden.near_events += near_events;
    }
    const auto share_of = [owned](std::uint64_t events) {
        return owned > 0 ? json(static_cast<double>(events) / static_cast<double>(owned)) : json();
    };
    facts["named_share"] = share_of(named);
    facts["near_share"] = share_of(near);
    std::vector<std::pair<std::string, hidden_counts>> modules(by_module.begin(), by_module.end());
    std::stable_sort(modules.begin(), modules.end(),
                     [](const auto& a, const auto& b) { return a.second.events > b.second.events; });
    facts["modules_without_symbols"] = json::array();
    for (const auto& [path, hidden] : modules) {
        facts["modules_without_symbols"].push_back(program::json_object({{"path", path},
                                                                         {"build_id", build_id_of(all, path)},
                                                                         {"events", hidden.events},
                                                                         {"share", share_of(hidden.events)},
                                                                         {"bytes", hidden.bytes},
                                                                         {"near_events", hidden.near_events},
                                                                         {"why", why_hidden(all, path)}}));
    }
    facts["modules_without_names"] = json::array();
    for (const symbols::unreadable_module& module : all.functions().unreadable())
        facts["modules_without_names"].push_back(program::json_object({{"path", module.path}, {"why", module.reason}}));
}

}  // namespace millpond::characterise
