// SPDX-License-Identifier: BSL-1.0
// context_functions: finds the function of every frame in a trace's tree of contexts.
//
//   node 7: returns to libfoo.so + 0x1a40 ──module_functions──▶ function 3: foo::parse, owner foo, …
//
// Functions of one name are one function (parts and overloads of a function, a file loaded twice). If a module's file
// is missing or is another build than the recorded one, unreadable() lists it, and its frames have no function. Create
// it first: subsystem_map and scope_tree need it. O(nodes · log functions). Read-only afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/symbols/module_functions.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::symbols {

struct frame_function {
    std::string name, owner;
    owner_kind kind;
    bool named, standard, allocation;
    std::string near{};  // of a function without a symbol: a function with one that lies close to it
};

struct unreadable_module {
    std::string path, reason;
};

class context_functions {
  public:
    static constexpr std::uint32_t none = 0;  // no function is known for this frame

    // Looks up the functions in the modules' files.
    context_functions(const std::vector<trace::context_node>& nodes, const std::vector<trace::module_record>& modules);
    // Takes functions from the caller, one for each node (position 0 is ignored): for traces without modules.
    context_functions(const std::vector<trace::context_node>& nodes, std::vector<frame_function> functions,
                      std::vector<std::uint32_t> function_of_node);

    std::uint32_t function_of(std::uint32_t node) const { return function_of_node_[node]; }
    const frame_function& function(std::uint32_t id) const { return functions_[id]; }
    std::size_t size() const { return functions_.size(); }
    // Returns the symbol of a library frame, which names a container; empty for every other frame.
    std::string_view symbol_of(std::uint32_t node) const {
        return node < symbol_of_node_.size() ? std::string_view(symbols_[symbol_of_node_[node]]) : std::string_view();
    }
    // Returns whether the frame is in a deleting destructor, which a `delete` of a base calls.
    bool in_deleting_destructor(std::uint32_t node) const { return node < deletes_.size() && deletes_[node]; }

    std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes_->size()); }
    const trace::context_node& node(std::uint32_t id) const { return (*nodes_)[id]; }
    // Returns the file name of a node's module; empty if it has none.
    std::string module_name(std::uint32_t node) const;
    // Returns the path of a node's module; empty if it has none.
    std::string module_path(std::uint32_t node) const;
    bool in_standard_module(std::uint32_t node) const;

    const std::vector<unreadable_module>& unreadable() const { return unreadable_; }

  private:
    const std::vector<trace::context_node>* nodes_;
    std::vector<std::string> module_names_, module_paths_;  // by module id
    std::vector<char> module_standard_;
    std::vector<frame_function> functions_;
    std::vector<std::uint32_t> function_of_node_;
    std::vector<std::string> symbols_{""};
    std::vector<std::uint32_t> symbol_of_node_;
    std::vector<bool> deletes_;  // by node
    std::vector<unreadable_module> unreadable_;
};

}  // namespace millpond::symbols
