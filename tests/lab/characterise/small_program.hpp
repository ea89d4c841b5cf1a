// SPDX-License-Identifier: BSL-1.0
// small_program: a tree of call frames with functions that the test chooses, and events in them.
//
//   program p;  p.call("main").call("run").call("add")  ─▶  node of add, called by run, called by main
//
// A function named "x::f" belongs to the class x; one whose name begins with "std::" passes ownership on; one named
// "…malloc" is an allocation function: all by the rules of lab/symbols/owner.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/characterise/event_counts.hpp"
#include "lab/symbols/context_functions.hpp"
#include "lab/symbols/owner.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::test {

class small_program {
  public:
    // A frame of `function` at a call site of its own, called by the frame `caller` (0: the outside). Returns its node.
    std::uint32_t frame(std::uint32_t caller, const std::string& function, std::uint64_t site = 0) {
        nodes_.push_back({caller, 0, 100 + site});
        function_of_node_.push_back(function_id(function));
        return static_cast<std::uint32_t>(nodes_.size() - 1);
    }

    // The mark of a frame that frees, as notes of frees have it.
    std::uint32_t frees(std::uint32_t frame) {
        nodes_.push_back({frame, 0, mpt_offset_frees});
        function_of_node_.push_back(0);
        return static_cast<std::uint32_t>(nodes_.size() - 1);
    }

    const std::vector<trace::context_node>& nodes() const { return nodes_; }
    std::uint32_t function_of(std::uint32_t node) const { return function_of_node_[node]; }
    const std::string& name(std::uint32_t function) const { return functions_[function].name; }
    std::uint32_t function_id(const std::string& name) {
        for (std::uint32_t i = 1; i < functions_.size(); ++i) {
            if (functions_[i].name == name) return i;
        }
        const bool is_cpp = name.starts_with("operator") || name.find("::") != std::string::npos;
        const symbols::ownership o = is_cpp ? symbols::own_demangled(name + "()") : symbols::own(name);
        functions_.push_back({name, o.owner, o.kind, true, o.standard, o.allocation});
        return static_cast<std::uint32_t>(functions_.size() - 1);
    }

    symbols::context_functions functions() const { return {nodes_, functions_, function_of_node_}; }

  private:
    std::vector<trace::context_node> nodes_{{0, 0, 0}};
    std::vector<std::uint32_t> function_of_node_{0};
    std::vector<symbols::frame_function> functions_{{"", "", symbols::owner_kind::module, false, false, false}};
};

inline trace::event allocation(std::uint64_t time, std::uint32_t thread, std::uint64_t address, std::uint64_t bytes,
                               std::uint32_t context, std::uint32_t duration = 0) {
    return {time, address, bytes, context, thread, duration, trace::operation::allocate, 0, false};
}

inline trace::event deallocation(std::uint64_t time, std::uint32_t thread, std::uint64_t address,
                                 std::uint32_t duration = 0) {
    return {time, address, 0, 0, thread, duration, trace::operation::free, 0, false};
}

inline trace::event note(std::uint64_t time, std::uint32_t thread, std::uint64_t subject, std::uint64_t value) {
    return {time, value, subject, 0, thread, 0, trace::operation::note, 0, false};
}

// The result of a pass over events, with all objects that it refers to.
struct pass {
    pass(const small_program& program, const std::vector<trace::event>& events, double ticks_per_ns = 1.0,
         const std::vector<symbols::owner_group>& groups = {})
        : nodes(program.nodes()),
          functions(program.functions()),
          subsystems(functions, groups),
          scopes(functions, subsystems),
          counted(subsystems, scopes, nodes, events.size(), ticks_per_ns) {
        counted.consume(events.data(), events.size());
        counted.finish();
    }

    std::uint32_t subsystem(const std::string& name) const {
        for (std::uint32_t i = 0; i < subsystems.subsystems().size(); ++i) {
            if (subsystems.subsystems()[i].name == name) return i;
        }
        return ~0u;
    }
    const characterise::subsystem_counts& counts(const std::string& name) const {
        return counted.subsystems().at(subsystem(name));
    }
    // Objects of a subsystem that outlived the innermost invocation of `function` around their allocation, and those
    // that had one.
    std::pair<std::uint64_t, std::uint64_t> outlived(std::uint32_t of, std::uint32_t function) const {
        std::uint64_t outlived = 0, enclosed = 0;
        for (const characterise::context_counts& c : counted.contexts()) {
            const std::uint32_t owning = c.subsystem == of ? scopes.innermost_of(c.scope, function) : 0;
            if (owning == 0) continue;
            enclosed += c.objects;
            outlived += counted.legality().outlived_depth(c, scopes.depth(owning));
        }
        return {outlived, enclosed};
    }
    // The objects that were never freed although the invocation had ended.
    std::uint64_t left(std::uint32_t of, std::uint32_t function) const {
        std::uint64_t left = 0;
        for (const characterise::context_counts& c : counted.contexts()) {
            const std::uint32_t owning = c.subsystem == of ? scopes.innermost_of(c.scope, function) : 0;
            if (owning != 0) left += counted.legality().left_depth(c, scopes.depth(owning));
        }
        return left;
    }

    const std::vector<trace::context_node>& nodes;
    symbols::context_functions functions;
    symbols::subsystem_map subsystems;
    characterise::scope_tree scopes;
    characterise::event_counts counted;
};

}  // namespace millpond::test
