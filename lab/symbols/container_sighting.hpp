// SPDX-License-Identifier: BSL-1.0
// container_sighting: finds what one function of the standard library tells about the container that it belongs to.
//
//   std::_Rb_tree<int, std::pair<int const, order>, …>::_M_get_node ─▶ tree │ inside │ int|order │ std::map<int, order>
//   std::__new_allocator<std::_List_node<order>>::allocate          ─▶ list │ node   │ order     │ std::list<order>
//
// Use it through container_name. Linear in the length of the name. Thread-safe: no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millpond::symbols {

// The strength of a function's evidence for its container.
enum class evidence { node, inside, whole };
// Containers of one family share their inner functions.
enum class family { tree, hash, vector, deque, list, forward_list, string, shared, function, any, other };

struct container_hint {
    family kind;
    evidence strength;
    std::string elements;  // comparable: must be equal for two hints about one container
    std::string type;
    bool primitive = false;  // seen only in functions that their own container calls
    bool surrounds = false;  // a class made of other containers (std::queue, std::stringstream); it stands for them
};

// Reads a demangled name; returns nothing if the function belongs to no container.
std::optional<container_hint> sight(const std::string& function);

// Returns whether only its own container calls the function. A call from another container then shows that compilers
// have merged functions of equal code into one, under the name of any of them.
bool is_primitive(const std::string& function);

// Returns whether a program's source names this class of the standard library: `map`, not `_Rb_tree`.
bool is_written_by_users(std::string_view name);

}  // namespace millpond::symbols
