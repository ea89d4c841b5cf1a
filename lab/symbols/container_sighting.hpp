// SPDX-License-Identifier: BSL-1.0
// container_sighting: what one function of the standard library tells of the container that it belongs to.
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

// How much a function tells of its container.
enum class evidence { node, inside, whole };
// Containers of one family share their inner functions.
enum class family { tree, hash, vector, deque, list, forward_list, string, shared, function, any, other };

struct sighting {
    family kind;
    evidence strength;
    std::string elements;  // comparable: what must agree for two sightings to be of one container
    std::string type;
    bool primitive = false;  // seen in functions only that are called by their own container
    bool surrounds = false;  // a class made of other containers (std::queue, std::stringstream), which it stands for
};

// From a demangled name; nothing where the function is of no container.
std::optional<sighting> sight(const std::string& function);

// Such a function is called by its own container only, so a call from another one tells that compilers have folded
// functions of equal code into one, which has the name of any of them.
bool is_primitive(const std::string& function);

// A class of the standard library that a program's source names: `map`, not `_Rb_tree`.
bool is_written_by_users(std::string_view name);

}  // namespace millpond::symbols
