// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/context_functions.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "lab/symbols/debug_file.hpp"

namespace millpond::symbols {
namespace {

std::string file_name(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Returns the functions of a module, or null and the reason why they cannot be read.
std::unique_ptr<module_functions> open_module(const trace::module_record& module, std::string& reason) {
    try {
        auto opened = std::make_unique<module_functions>(module_file(module.path));
        // A recorder may keep only the first bytes of a build-id, so compare the common length.
        const std::size_t digits = std::min(opened->build_id().size(), module.build_id.size());
        if (opened->build_id().compare(0, digits, module.build_id, 0, digits) == 0) return opened;
        reason = "the file is now another build (" + opened->build_id() + ") than the recorded one (" +
                 module.build_id + "): record again";
    } catch (const std::runtime_error& failure) {
        reason = failure.what();
    }
    return nullptr;
}

}  // namespace

context_functions::context_functions(const std::vector<trace::context_node>& nodes,
                                     const std::vector<trace::module_record>& modules)
    : nodes_(&nodes), functions_{{"", "", owner_kind::module, false, false, false}} {
    std::vector<std::unique_ptr<module_functions>> opened(modules.size() + 1);
    std::vector<char> tried(modules.size() + 1, 0);
    module_names_.resize(modules.size() + 1);
    module_paths_.resize(modules.size() + 1);
    module_standard_.resize(modules.size() + 1, 0);
    for (std::size_t i = 0; i < modules.size(); ++i) {
        module_names_[i + 1] = file_name(modules[i].path);
        module_paths_[i + 1] = modules[i].path;
        module_standard_[i + 1] = is_standard_module(modules[i].path);
    }

    std::unordered_map<const symbols::function*, std::uint32_t> known, known_symbol;
    std::unordered_map<std::string, std::uint32_t> by_name;
    function_of_node_.resize(nodes.size(), none);
    symbol_of_node_.resize(nodes.size(), 0);
    deletes_.resize(nodes.size(), false);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        const trace::context_node& node = nodes[i];
        if (node.module == 0 || node.module > modules.size()) continue;
        if (!tried[node.module]) {
            tried[node.module] = 1;
            std::string reason;
            opened[node.module] = open_module(modules[node.module - 1], reason);
            if (!reason.empty() && modules[node.module - 1].path.find('/') != std::string::npos)
                unreadable_.push_back({modules[node.module - 1].path, reason});
        }
        if (!opened[node.module]) continue;
        // The return address may be the first of the next function, so look up the byte before it.
        const symbols::function* found = opened[node.module]->find(node.offset - 1);
        if (found == nullptr) continue;
        auto [entry, is_new] = known.try_emplace(found, 0);
        if (is_new) {
            const auto [same, is_first] =
                by_name.try_emplace(found->name, static_cast<std::uint32_t>(functions_.size()));
            if (is_first)
                functions_.push_back({found->name, found->owner, found->kind, found->named, found->standard,
                                      found->allocation, found->near});
            entry->second = same->second;
        }
        function_of_node_[i] = entry->second;
        deletes_[i] = without_suffixes(found->symbol).ends_with("D0Ev");  // its form in the Itanium ABI
        if (!found->standard || !found->symbol.starts_with("_")) continue;
        const auto [symbol, is_first] = known_symbol.try_emplace(found, static_cast<std::uint32_t>(symbols_.size()));
        if (is_first) symbols_.emplace_back(found->symbol);
        symbol_of_node_[i] = symbol->second;
    }
}

context_functions::context_functions(const std::vector<trace::context_node>& nodes,
                                     std::vector<frame_function> functions, std::vector<std::uint32_t> function_of_node)
    : nodes_(&nodes), functions_(std::move(functions)), function_of_node_(std::move(function_of_node)) {}

std::string context_functions::module_name(std::uint32_t node) const {
    const std::uint32_t module = (*nodes_)[node].module;
    return module < module_names_.size() ? module_names_[module] : std::string();
}

std::string context_functions::module_path(std::uint32_t node) const {
    const std::uint32_t module = (*nodes_)[node].module;
    return module < module_paths_.size() ? module_paths_[module] : std::string();
}

bool context_functions::in_standard_module(std::uint32_t node) const {
    const std::uint32_t module = (*nodes_)[node].module;
    return module < module_standard_.size() && module_standard_[module] != 0;
}

}  // namespace millpond::symbols
