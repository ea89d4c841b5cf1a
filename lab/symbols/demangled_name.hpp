// SPDX-License-Identifier: BSL-1.0
// demangled_name: splits the demangled name of a function into its parts, aware of brackets.
//
//   std::vector<int> shop::(anonymous namespace)::index<int>::find<long>(long) const::{lambda()#1}::operator()() const
//   └ return type ┘  │     └ transparent, dropped  │          │                      │             │
//                    scope                         scope      function               scope         function
//
// Complexity: linear, except for nested template arguments, which are tidied recursively. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millpond::symbols {

struct name_part {
    std::string name;       // tidy, without template arguments
    std::string arguments;  // tidy template arguments with their brackets, or empty
    bool is_function;       // parameters follow it
};

// Returns the parts of the qualified name, outermost scope first, without return type, parameters, qualifiers and
// anonymous namespaces.
std::vector<name_part> split_demangled(std::string_view demangled);

// Returns a type or name in short form: without defaulted template arguments, ABI tags and the library's inline
// namespaces.
std::string tidy_type(std::string_view type);

// Returns the end of the bracketed text that opens at `at`, past its closing bracket; the end of `text` if it never
// closes.
std::size_t skip_brackets(std::string_view text, std::size_t at) noexcept;

// Returns the template arguments in "<a, b<c, d>>", untidied.
std::vector<std::string_view> split_arguments(std::string_view bracketed);

}  // namespace millpond::symbols
