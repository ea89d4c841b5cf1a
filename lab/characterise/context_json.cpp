// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/context_json.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace millpond::characterise {
namespace {

// Nodes that lie on the way from the outside to an allocation.
std::vector<char> on_the_way(const characterisation& all) {
    const std::vector<context_counts>& counts = all.counts().contexts();
    std::vector<char> wanted(all.functions().node_count(), 0);
    for (std::uint32_t node = 1; node < wanted.size(); ++node) {
        if (counts[node].objects == 0) continue;
        for (std::uint32_t at = node; at != 0 && !wanted[at]; at = all.functions().node(at).parent) wanted[at] = 1;
    }
    return wanted;
}

}  // namespace

json contexts_json(const characterisation& all) {
    const std::vector<context_counts>& counts = all.counts().contexts();
    std::vector<std::int64_t> position(counts.empty() ? 0 : all.counts().subsystems().size(), -1);
    json subsystems = json::array();
    for (const std::uint32_t s : all.order()) {
        position[s] = static_cast<std::int64_t>(subsystems.size());
        subsystems.push_back(all.subsystems().subsystems()[s].name);
    }
    const std::vector<char> wanted = on_the_way(all);
    std::vector<std::uint32_t> number(wanted.size(), 0);
    std::unordered_map<std::string, std::uint32_t> known;
    json functions = json::array(), nodes = json::array();
    const auto row = [&](std::uint32_t node, std::string name) {
        const auto [function, is_new] = known.try_emplace(name, static_cast<std::uint32_t>(known.size()));
        if (is_new) functions.push_back(std::move(name));
        const bool allocates = counts[node].objects > 0;
        const live_counts left = allocates ? all.counts().left()[node] : live_counts{};
        const std::uint32_t parent = node == 0 ? 0 : number[all.functions().node(node).parent];
        nodes.push_back({parent, function->second, allocates ? position[counts[node].subsystem] : -1,
                         counts[node].objects, counts[node].bytes, left.objects, left.bytes});
        number[node] = static_cast<std::uint32_t>(nodes.size());
    };
    for (std::uint32_t node = 1; node < wanted.size(); ++node) {
        if (wanted[node]) row(node, all.frame_name(node));
    }
    if (!counts.empty() && counts[0].objects > 0) row(0, "[unknown]");
    return {{"schema", "millpond.contexts/1"}, {"functions", functions}, {"subsystems", subsystems}, {"nodes", nodes}};
}

}  // namespace millpond::characterise
