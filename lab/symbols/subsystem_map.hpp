// SPDX-License-Identifier: BSL-1.0
// subsystem_map: finds the subsystem that each context belongs to.
//
//   malloc ◀─ operator new ◀─ std::list::push_back ◀─ order_book::add ◀─ trade ◀─ main
//             (passes on)     (passes on)             ▲ owns it
//
// An allocation belongs to the owner (lab/symbols/owner.hpp) of the innermost frame that is neither standard nor an
// allocation function. A frame of a module whose functions are unknown is owned by the module; one without a module, by
// "[generated code]". If every frame passes ownership on, the owner is the outermost allocation function, else the
// module of the innermost frame. A context without frames belongs to "[unknown]". Users may join owners under a new
// name by patterns. O(nodes). Read-only afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lab/symbols/context_functions.hpp"

namespace millpond::symbols {

struct owner_group {
    std::string name, pattern;  // `*`: any run of characters, `?`: any one
};

struct subsystem_identity {
    std::string name;
    std::string kind;  // a kind of owner, or "group"
    bool named = false;
    std::vector<std::string> owners;     // one, except for groups
    std::vector<std::string> modules{};  // the files that contain its own frames
    std::string near{};                  // of a function without a symbol: one with a symbol that lies close to it
};

class subsystem_map {
  public:
    subsystem_map(const context_functions& functions, const std::vector<owner_group>& groups);

    std::uint32_t subsystem_of(std::uint32_t context) const { return subsystem_of_node_[context]; }
    const std::vector<subsystem_identity>& subsystems() const { return subsystems_; }

  private:
    std::uint32_t intern(const std::string& owner, std::string_view kind, bool named,
                         const std::vector<owner_group>& groups);
    void note_module(std::uint32_t subsystem, const std::string& path);

    std::vector<subsystem_identity> subsystems_;
    std::vector<std::uint32_t> subsystem_of_node_;
    std::unordered_map<std::string, std::uint32_t> by_owner_, by_name_;
};

// Returns whether a pattern of a group fits the whole name.
bool fits_pattern(std::string_view pattern, std::string_view name);

}  // namespace millpond::symbols
