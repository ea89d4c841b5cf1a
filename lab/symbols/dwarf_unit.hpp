// SPDX-License-Identifier: BSL-1.0
// dwarf_unit: indexes one unit of debug information: the function at each address, and the scope around each function.
//
// Use it through debug_info. Building: O(entries of the unit). Not thread-safe.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lab/symbols/debug_info.hpp"

namespace millpond::symbols {

class dwarf_unit {
  public:
    explicit dwarf_unit(Dwarf_Die unit);

    // Returns the functions at an address, innermost first.
    std::vector<debug_frame> frames(std::uint64_t address);
    std::vector<declaration> declarations(std::uint64_t die);
    source_place declared(std::uint64_t function) const;
    // Returns the language of the unit that a function was compiled in.
    source_language language(std::uint64_t function) const;
    // Returns whether types are described: false if it has only line tables (-g1, -gline-tables-only).
    bool has_types() const { return has_types_; }

  private:
    struct function_range {
        std::uint64_t first, past;
        Dwarf_Die function;
    };

    // `own`: the entries belong to this unit, not to another one that it refers to.
    void index(Dwarf_Die* parent, bool own) const;
    bool parent_of(const Dwarf_Die& die, Dwarf_Die& parent) const;
    std::string qualified_name(Dwarf_Die* die, int depth = 0) const;
    std::string function_name(Dwarf_Die* die) const;
    std::string type_name(Dwarf_Die* die) const;
    std::string written_type(Dwarf_Die* of, int depth) const;
    std::string template_arguments(Dwarf_Die* of, int depth) const;
    std::string word_of(Dwarf_Die* one, int depth) const;
    source_place declared_at(Dwarf_Die* die) const;
    source_place called_at(Dwarf_Die* inlined) const;
    source_place place_of(Dwarf_Die* die, unsigned attribute, int line) const;
    source_place line_at(std::uint64_t address);
    source_place complete(const char* file, int line) const;

    void add(Dwarf_Die* die, const char* kind, const std::string& before, std::vector<declaration>& to) const;
    void add_locals(Dwarf_Die* function, std::vector<declaration>& to) const;
    void add_members(Dwarf_Die* type, const char* kind, const std::string& before, int depth,
                     std::vector<declaration>& to) const;

    Dwarf_Die unit_;
    std::string folder_;
    // Filled when the unit is indexed, at the first look-up that needs it.
    mutable std::vector<function_range> functions_;
    mutable std::unordered_map<const void*, Dwarf_Die> parents_;  // scopes around entries, by the entry's position
    mutable bool has_types_ = false;
    mutable std::unordered_set<const void*> indexed_;
    mutable std::vector<Dwarf_Die> statics_;
};

}  // namespace millpond::symbols
