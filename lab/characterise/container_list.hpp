// SPDX-License-Identifier: BSL-1.0
// container_list: the containers that a subsystem allocates for, the places in its code that ask for them, and the
// members and variables that they are.
//
//   context ─▶ functions between malloc and the owner, inlined ones too ─▶ container_name
//          └─▶ the call in the owner: file and line ─▶ declarations of the owner with that type
//
// "containers" of a subsystem, the one with most bytes first (docs/explanation/contexts.md). Names also come from
// symbols; places and members need debug information. It is read for the contexts with most bytes: for at least
// looked_at_least of them, and until they cover looked_at_share of a subsystem's bytes. Contexts with the same
// addresses up to the owner are read once. Memory: the indexes of the units read, and these addresses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lab/characterise/characterisation.hpp"
#include "lab/characterise/module_debug.hpp"
#include "lab/symbols/debug_info.hpp"

namespace millpond::characterise {

// The code that asks for the memory of a context. Empty: unknown.
struct allocation_place {
    std::string function;   // the owner's
    std::string container;  // its type
    symbols::source_place place;
};

class container_list {
  public:
    // `debug` must outlive this object.
    container_list(const characterisation& all, module_debug& debug) : all_(all), debug_(debug) {}

    json of(std::uint32_t subsystem);
    // Returns the place of one context; it reads the debug information. O(depth of the context).
    allocation_place place_of(std::uint32_t context);
    // Returns where a function around allocations of the subsystem is declared.
    symbols::source_place declared(const std::string& function, std::uint32_t subsystem);

  private:
    static constexpr double looked_at_share = 0.99;  // of a subsystem's bytes
    static constexpr std::size_t looked_at_least = 400;
    static constexpr std::size_t containers_max = 40;

    struct found;

    // `end`: the outermost context whose address decided; 0: all did.
    found look_at(std::uint32_t context, bool with_debug_information, std::uint32_t& end);
    // Sets the variables that the container may be. If they tell more of its type than the walk did, they set the type,
    // too.
    void name_by_variables(found& one);
    bool is_named_at(const std::string& name, const symbols::source_place& place);
    json members(const found& one, const std::string& type);

    const characterisation& all_;
    module_debug& debug_;
    std::map<std::string, std::vector<std::string>> sources_;
};

}  // namespace millpond::characterise
