// SPDX-License-Identifier: BSL-1.0
// container_name: the container of an allocation, as a user writes it, read from the library's functions around it.
//
//   operator new ◀─ std::_Rb_tree<int, std::pair<int const, order>, …>::_M_get_node ◀─ std::map<int, order>::operator[]
//                   └────────────── a tree of pairs ──────────────┘                   └──── std::map<int, order> ────┘
//
// Functions go from the innermost outward, up to the owner (owner.hpp), whether they were called or inlined. The
// innermost container is the one that allocates; a container outside it, of which it is an element, is named too.
// Functions further out make a name more exact as long as they are of the same container: the tree's own function does
// not tell map from multimap, the map's does. Spellings of libstdc++ and libc++. Complexity: linear in the length of
// the names. Thread-safe: no state.
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

// Of demangled names; nothing where no function belongs to a container.
std::optional<container_name> name_container(std::span<const std::string> functions);

// A type of the library as a user writes it: no defaulted arguments, aliases (std::string), std::pmr where the
// allocator is polymorphic.
std::string written_type(std::string_view type);

// A spelling in which types are compared that compilers and demanglers write differently: without blanks, `const` and
// suffixes of numbers.
std::string comparable_type(std::string_view type);

// Streams that share their buffer's functions: all on strings, all on files.
bool are_streams_of_one_kind(std::string_view a, std::string_view b);

// A std::queue, std::stack or std::priority_queue over its default container with the same elements.
bool is_adaptor_over(std::string_view adaptor, std::string_view container);

}  // namespace millpond::symbols
