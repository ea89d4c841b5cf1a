// SPDX-License-Identifier: BSL-1.0
// dwarf_unit: one unit of debug information, indexed: which function covers an address, and which scope is around
// which.
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

    // The functions at an address, the innermost first.
    std::vector<debug_frame> frames(std::uint64_t address);
    std::vector<declaration> declarations(std::uint64_t die);
    source_place declared(std::uint64_t function) const;
    // Of the unit that a function was compiled in.
    source_language language(std::uint64_t function) const;
    // Types are described: it is not made of line tables alone (-g1, -gline-tables-only).
    bool has_types() const { return has_types_; }

  private:
    struct covered {
        std::uint64_t first, past;
        Dwarf_Die function;
    };

    // `own`: of this unit, and not of another one that it refers to.
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
    // Filled when a unit is indexed, which is when a look-up first needs it.
    mutable std::vector<covered> functions_;
    mutable std::unordered_map<const void*, Dwarf_Die> parents_;  // of scopes, by where their entry lies
    mutable bool has_types_ = false;
    mutable std::unordered_set<const void*> indexed_;
    mutable std::vector<Dwarf_Die> statics_;
};

}  // namespace millpond::symbols
