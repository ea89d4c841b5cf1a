// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/scope_tree.hpp"

#include <algorithm>
#include <unordered_map>

#include "lab/trace/format.h"

namespace millpond::characterise {
namespace {

constexpr std::size_t sampled_contexts = 512;  // of each subsystem, evenly over its contexts

struct enclosing_function {
    std::uint32_t function;
    std::uint32_t contexts;  // the number that it encloses
    std::uint32_t depth;     // where it was met first
};

// Chooses the most enclosing functions; among equals the innermost and the outermost, which bound where an arena can
// stand.
std::vector<std::uint32_t> choose(std::vector<enclosing_function> all) {
    constexpr std::size_t each = scope_tree::candidates_max / 2;
    std::sort(all.begin(), all.end(), [](const enclosing_function& a, const enclosing_function& b) {
        if (a.contexts != b.contexts) return a.contexts > b.contexts;
        return a.depth != b.depth ? a.depth > b.depth : a.function < b.function;
    });
    std::vector<std::uint32_t> chosen;
    const auto level = [&](std::size_t i) { return all[i].contexts; };
    for (std::size_t first = 0; first < all.size() && chosen.size() < scope_tree::candidates_max;) {
        std::size_t past = first;
        while (past < all.size() && level(past) == level(first)) ++past;
        const std::size_t room = scope_tree::candidates_max - chosen.size();
        const std::size_t inner = past - first <= room ? past - first : std::min(each, room);
        for (std::size_t i = first; i < first + inner; ++i) chosen.push_back(all[i].function);
        for (std::size_t i = std::max(first + inner, past - std::min(past - first, room - inner)); i < past; ++i)
            chosen.push_back(all[i].function);
        first = past;
    }
    return chosen;
}

}  // namespace

void scope_tree::choose_candidates(const symbols::context_functions& functions,
                                   const symbols::subsystem_map& subsystems) {
    const std::uint32_t nodes = functions.node_count();
    // Frees and their marks are children, too, so only contexts that allocate are considered.
    std::vector<char> has_child(nodes, 0), frees(nodes, 0);
    for (std::uint32_t i = 1; i < nodes; ++i) {
        const trace::context_node& node = functions.node(i);
        has_child[node.parent] = 1;
        if (node.module == 0 && node.offset == mpt_offset_frees) frees[i] = frees[node.parent] = 1;
    }
    // Innermost frames are leaves of the tree, except for rare ones that call malloc and others through one pointer.
    std::vector<std::vector<std::uint32_t>> contexts(subsystems.subsystems().size());
    for (const bool leaves : {true, false}) {
        std::vector<char> served(contexts.size());
        for (std::size_t s = 0; s < contexts.size(); ++s) served[s] = !contexts[s].empty();
        for (std::uint32_t i = 1; i < nodes; ++i) {
            const std::uint32_t s = subsystems.subsystem_of(i);
            if (frees[i] == 0 && (leaves ? has_child[i] == 0 : served[s] == 0)) contexts[s].push_back(i);
        }
    }

    candidates_.resize(contexts.size());
    std::unordered_map<std::uint32_t, enclosing_function> counts;
    for (std::size_t s = 0; s < contexts.size(); ++s) {
        counts.clear();
        const std::size_t step = std::max<std::size_t>(1, contexts[s].size() / sampled_contexts);
        for (std::size_t c = 0; c < contexts[s].size(); c += step) {
            std::uint32_t depth = 0;
            for (std::uint32_t at = contexts[s][c]; at != 0; at = functions.node(at).parent) ++depth;
            std::vector<std::uint32_t> met;
            for (std::uint32_t at = contexts[s][c]; at != 0; at = functions.node(at).parent, --depth) {
                const std::uint32_t f = functions.function_of(at);
                if (f == symbols::context_functions::none || functions.function(f).standard) continue;
                if (std::find(met.begin(), met.end(), f) != met.end()) continue;  // counts recursive calls once
                met.push_back(f);
                ++counts.try_emplace(f, enclosing_function{f, 0, depth}).first->second.contexts;
            }
        }
        std::vector<enclosing_function> all;
        all.reserve(counts.size());
        for (const auto& [function, count] : counts) all.push_back(count);
        candidates_[s] = choose(std::move(all));
    }
}

scope_tree::scope_tree(const symbols::context_functions& functions, const symbols::subsystem_map& subsystems) {
    choose_candidates(functions, subsystems);
    std::vector<char> kept(functions.size(), 0);
    for (const std::vector<std::uint32_t>& of_one : candidates_) {
        for (const std::uint32_t f : of_one) kept[f] = 1;
    }
    const std::uint32_t nodes = functions.node_count();
    innermost_.resize(std::max<std::uint32_t>(nodes, 1), 0);
    std::unordered_map<std::uint64_t, std::uint32_t> known;  // (caller's node, function) to scope
    for (std::uint32_t i = 1; i < nodes; ++i) {
        const std::uint32_t caller = functions.node(i).parent;
        const std::uint32_t f = functions.function_of(i);
        innermost_[i] = innermost_[caller];
        if (kept[f] == 0) continue;
        const std::uint64_t key = std::uint64_t{caller} << 32 | f;
        const auto [entry, is_new] = known.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
        if (is_new) nodes_.push_back({innermost_[caller], f, nodes_[innermost_[caller]].depth + 1});
        innermost_[i] = entry->second;
    }
}

std::uint32_t scope_tree::innermost_of(std::uint32_t scope, std::uint32_t function) const {
    while (scope != 0 && nodes_[scope].function != function) scope = nodes_[scope].parent;
    return scope;
}

}  // namespace millpond::characterise
