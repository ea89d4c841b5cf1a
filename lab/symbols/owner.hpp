// SPDX-License-Identifier: BSL-1.0
// owner: derives the owner of an allocation (class, namespace or function) from a symbol.
//
//   symbol  _ZN6orders5indexIiE6insertEi.cold
//     └─ demangled  orders::index<int>::insert(int)
//          ├─ name   orders::index<int>::insert       (no return type, no parameters)
//          └─ owner  orders::index<int>               kind: type
//
// The owner of a function is its class or namespace; a free function owns itself. Anonymous namespaces and ABI tags are
// transparent; a lambda or a local class belongs to the owner of the function around it; template arguments of
// functions are dropped, those of classes are kept, without the defaulted ones (allocator, hash, less, char_traits …).
//
// Two sorts of functions own nothing and pass ownership to their caller:
// - *standard* ones: std::, __gnu_cxx::, __cxxabiv1::, operator new and delete, start-up code, and everything in the
//   modules that is_standard_module names. (A std:: function that carries a lambda into a thread or a std::function,
//   because the compiler may have inlined the lambda into it, belongs to the lambda's owner.)
// - *allocation functions*: those whose own name says that they only allocate (allocation_names.hpp). Without this rule
//   perl, gawk and gcc would have a single subsystem, named after their wrapper of malloc.
//
// An allocation belongs to the innermost frame whose function is neither. If every frame passes ownership on, it
// belongs to the outermost allocation function; if there is no such function, to the module of the innermost frame that
// has one.
// Complexity: linear in the length of the name. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>

namespace millpond::symbols {

enum class owner_kind { type, function, module, unnamed };

// Returns "type", "function", "module" or "unnamed".
std::string_view kind_name(owner_kind kind) noexcept;

struct ownership {
    std::string name, owner;
    owner_kind kind = owner_kind::function;
    bool standard = false;    // passes ownership to its caller …
    bool allocation = false;  // … because it is an allocation function
};

// Derives the owner from a symbol of an object file: mangled or plain, with or without suffixes such as `.cold` or
// `@@VERSION`.
ownership own(std::string_view symbol);

// Derives the owner from a demangled name, as abi::__cxa_demangle writes it.
ownership own_demangled(std::string_view demangled);

// Returns the symbol without the suffixes that a compiler or linker adds to parts and copies of a function.
std::string_view without_suffixes(std::string_view symbol) noexcept;

}  // namespace millpond::symbols
