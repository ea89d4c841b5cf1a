// SPDX-License-Identifier: BSL-1.0
// container_name: names the container of an allocation as a user writes it, from the library's functions around it.
//
//   operator new ◀─ std::_Rb_tree<int, std::pair<int const, order>, …>::_M_get_node ◀─ std::map<int, order>::operator[]
//                   └────────────── a tree of pairs ──────────────┘                   └──── std::map<int, order> ────┘
//
// Functions are listed from the innermost outward, up to the owner (owner.hpp), called or inlined. The innermost
// container is the one that allocates. If it is an element of a container outside it, that one is named, too. Functions
// further out make a name more exact as long as they belong to the same container: the tree's own function does not
// tell map from multimap, the map's does. Knows the spellings of libstdc++ and libc++. Complexity: linear in the length
// of the names. Thread-safe: no state.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millpond::symbols {

struct container_name {
    std::string type;        // std::map<int, shop::order>
    std::string element_of;  // the container around it, or empty
};

// Returns the container for demangled names; nothing if no function belongs to a container.
std::optional<container_name> name_container(std::span<const std::string> functions);

// Returns a type of the library as a user writes it: without defaulted arguments, with aliases (std::string), and in
// std::pmr if the allocator is polymorphic.
std::string written_type(std::string_view type);

// Returns a spelling for comparing types that compilers and demanglers write differently: without blanks, `const` and
// suffixes of numbers.
std::string comparable_type(std::string_view type);

// Returns whether two streams share their buffer's functions: both on strings, or both on files.
bool are_streams_of_one_kind(std::string_view a, std::string_view b);

// Returns whether `adaptor` is a std::queue, std::stack or std::priority_queue over its default container, with the
// same elements.
bool is_adaptor_over(std::string_view adaptor, std::string_view container);

}  // namespace millpond::symbols
