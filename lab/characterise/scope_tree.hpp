// SPDX-License-Identifier: BSL-1.0
// scope_tree: the invocations, visible in a trace's contexts, of functions that could own an arena for some subsystem.
//
//   contexts   main@1 ─ run@7 ─ parse@3 ─ add@2          scopes   main ─ run ─ add
//              main@1 ─ run@9 ─ add@2                                    └──── (the same run, another add)
//
// Two contexts may lie in one invocation of F only if their callers of F are the same frame; F itself may have moved on
// from one call to another (run@7, run@9). So an invocation is named by (node of the caller, F). Frames of other
// functions than candidates are left out, which makes the tree shallow.
//
// A subsystem's candidates are the functions that enclose most of its contexts: up to candidates_max, chosen before any
// event is read. O(nodes + subsystems · sampled contexts · depth). Read-only afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/symbols/context_functions.hpp"
#include "lab/symbols/subsystem_map.hpp"

namespace millpond::characterise {

struct scope_node {
    std::uint32_t parent;    // 0: none
    std::uint32_t function;  // id in symbols::context_functions
    std::uint32_t depth;     // 1: outermost
};

class scope_tree {
  public:
    static constexpr std::size_t candidates_max = 16;

    scope_tree(const symbols::context_functions& functions, const symbols::subsystem_map& subsystems);

    // Returns the innermost scope around a context; 0 if it has no scope.
    std::uint32_t innermost(std::uint32_t context) const { return innermost_[context]; }
    const scope_node& node(std::uint32_t scope) const { return nodes_[scope]; }
    std::uint32_t depth(std::uint32_t scope) const { return nodes_[scope].depth; }
    // The functions that could own an arena for a subsystem.
    const std::vector<std::uint32_t>& candidates(std::uint32_t subsystem) const { return candidates_[subsystem]; }
    // Returns the scope at or around `scope` that belongs to an invocation of `function`, the innermost one; 0 if there
    // is no such scope.
    std::uint32_t innermost_of(std::uint32_t scope, std::uint32_t function) const;

  private:
    void choose_candidates(const symbols::context_functions& functions, const symbols::subsystem_map& subsystems);

    std::vector<scope_node> nodes_{{0, 0, 0}};
    std::vector<std::uint32_t> innermost_;
    std::vector<std::vector<std::uint32_t>> candidates_;
};

}  // namespace millpond::characterise
