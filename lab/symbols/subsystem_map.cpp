// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/subsystem_map.hpp"

#include <algorithm>
#include <string_view>

namespace millpond::symbols {
namespace {

constexpr std::uint32_t nobody = ~std::uint32_t{0};
constexpr std::uint64_t generated_code = 0;  // offsets of frames without a module

// Facts about the frames from the outside up to a node.
struct path_summary {
    std::uint32_t owner = nobody;       // subsystem of the innermost frame that owns
    std::uint32_t allocation = nobody;  // outermost allocation function
    std::uint32_t module_node = 0;      // innermost node with a module
};

}  // namespace

bool fits_pattern(std::string_view pattern, std::string_view name) {
    // Matches greedily with one point of return: the last star takes as little as it can.
    std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
            ++p;
            ++n;
        } else if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

std::uint32_t subsystem_map::intern(const std::string& owner, std::string_view kind, bool named,
                                    const std::vector<owner_group>& groups) {
    if (const auto known = by_owner_.find(owner); known != by_owner_.end()) {
        subsystem_identity& found = subsystems_[known->second];
        found.named = found.named || named;
        return known->second;
    }
    subsystem_identity wanted{owner, std::string(kind), named, {owner}};
    for (const owner_group& group : groups) {
        if (!fits_pattern(group.pattern, owner)) continue;
        wanted.name = group.name;
        wanted.kind = "group";
        break;
    }
    const auto [entry, is_new] = by_name_.try_emplace(wanted.name, static_cast<std::uint32_t>(subsystems_.size()));
    by_owner_.emplace(owner, entry->second);
    if (is_new) {
        subsystems_.push_back(std::move(wanted));
    } else {
        subsystem_identity& joined = subsystems_[entry->second];
        joined.named = joined.named || named;
        joined.owners.push_back(owner);
    }
    return entry->second;
}

void subsystem_map::note_module(std::uint32_t subsystem, const std::string& path) {
    std::vector<std::string>& known = subsystems_[subsystem].modules;
    if (!path.empty() && std::find(known.begin(), known.end(), path) == known.end()) known.push_back(path);
}

subsystem_map::subsystem_map(const context_functions& functions, const std::vector<owner_group>& groups) {
    const std::uint32_t nodes = functions.node_count();
    std::vector<path_summary> paths(nodes);
    std::vector<std::uint32_t> of_function(functions.size(), nobody);
    const auto subsystem_of_function = [&](std::uint32_t id) {
        const frame_function& f = functions.function(id);
        if (of_function[id] == nobody) {
            of_function[id] = intern(f.owner, kind_name(f.kind), f.named, groups);
            if (subsystem_identity& found = subsystems_[of_function[id]]; found.name == f.owner) found.near = f.near;
        }
        return of_function[id];
    };
    const auto subsystem_of_module = [&](std::uint32_t node) {
        const std::string module = functions.module_name(node);
        return intern(module.empty() ? "[unknown]" : module, kind_name(owner_kind::module), false, groups);
    };

    subsystem_of_node_.resize(std::max<std::uint32_t>(nodes, 1), nobody);
    for (std::uint32_t i = 1; i < nodes; ++i) {
        const trace::context_node& node = functions.node(i);
        path_summary& path = paths[i] = paths[node.parent];
        const std::uint32_t id = functions.function_of(i);
        if (!functions.module_name(i).empty()) path.module_node = i;
        if (id != context_functions::none) {
            const frame_function& f = functions.function(id);
            if (!f.standard) path.owner = subsystem_of_function(id);
            if (f.allocation && path.allocation == nobody) path.allocation = id;
        } else if (node.module == 0 && node.offset == generated_code) {
            path.owner = intern("[generated code]", kind_name(owner_kind::module), false, groups);
        } else if (node.module != 0 && !functions.in_standard_module(i)) {
            path.owner = subsystem_of_module(i);
        }
        if (path.owner != paths[node.parent].owner) note_module(path.owner, functions.module_path(i));
        if (path.owner != nobody)
            subsystem_of_node_[i] = path.owner;
        else if (path.allocation != nobody)
            subsystem_of_node_[i] = subsystem_of_function(path.allocation);
        else
            subsystem_of_node_[i] = subsystem_of_module(path.module_node);
    }
    subsystem_of_node_[0] = subsystem_of_module(0);
}

}  // namespace millpond::symbols
