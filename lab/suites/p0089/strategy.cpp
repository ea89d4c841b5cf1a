// SPDX-License-Identifier: BSL-1.0
#include "strategy.hpp"

#include <string_view>

namespace millpond::p0089 {
namespace {

struct pool_facts {
    std::string_view name;
    int first_label;  // the first of its four strategies; 0: not in the paper
    std::string_view label_suffix;
};

constexpr pool_facts facts[pool_kinds] = {
    {"new_delete", 1, ""},
    {"monotonic", 3, ""},
    {"multipool", 7, ""},
    {"multipool(monotonic)", 11, ""},
    {"synchronized_multipool", 0, ""},
    {"synchronized(multipool)", 7, "s"},
    {"synchronized(multipool(monotonic))", 11, "s"},
    {"multipool_2015", 7, "-2015"},
    {"multipool_2015(monotonic)", 11, "-2015"},
    {"synchronized(multipool_2015)", 7, "s-2015"},
    {"synchronized(multipool_2015(monotonic))", 11, "s-2015"},
};

constexpr std::string_view binding_names[binding_kinds] = {
    "type", "base", "type_called", "type_padded", "type_written", "base_may_throw", "base_copied"};

// new_delete has no pool that could go at once; each tried binding has only one pool.
constexpr bool exists(strategy asked) {
    return (asked.is_local() || !asked.winks) && (asked.is_usual() || asked.pool == pool_kind::multipool);
}

const pool_facts& facts_of(strategy named) { return facts[static_cast<std::size_t>(named.pool)]; }

}  // namespace

std::string name_of(strategy named) {
    return std::string(facts_of(named).name)
        .append(":")
        .append(binding_names[static_cast<std::size_t>(named.binding)])
        .append(named.winks ? ":wink" : ":destroy");
}

std::string alias_of(strategy named) {
    const pool_facts& pool = facts_of(named);
    if (pool.first_label == 0 || !named.is_usual()) return {};
    const int bindings_apart = named.is_local() ? 2 : 1;
    const int label = pool.first_label + (named.by_base() ? bindings_apart : 0) + (named.winks ? 1 : 0);
    return "AS" + std::to_string(label) + std::string(pool.label_suffix);
}

const std::vector<strategy>& all_strategies() {
    static const std::vector<strategy> all = [] {
        std::vector<strategy> found;
        for (std::size_t pool = 0; pool < pool_kinds; ++pool) {
            for (std::size_t binding = 0; binding < binding_kinds; ++binding) {
                for (const bool winks : {false, true}) {
                    const strategy next{static_cast<pool_kind>(pool), static_cast<binding_kind>(binding), winks};
                    if (exists(next)) found.push_back(next);
                }
            }
        }
        return found;
    }();
    return all;
}

}  // namespace millpond::p0089
