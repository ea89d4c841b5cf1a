// SPDX-License-Identifier: BSL-1.0
// demangle: turns symbols of C++ into names as the language writes them; reads qualified names in symbols of D and
// Swift.
//
//   _ZN4shop4book3addEi              shop::book::add(int)
//   _ZN4shop4bookIJ…90 kB…EE3addEv   shop::book<first … last #1f09c2d4>::add()    longer than the C++ library reads
//   _D4shop4Book3addMFiZv            shop.Book.add, a member
//
// For Rust, use rust_name. Names longer than name_bytes_max are hard to read: cut_name leaves out their middle, and a
// hash keeps them distinct. Linear. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::symbols {

inline constexpr std::size_t name_bytes_max = 240;

// Returns the name for a symbol of C++; empty for another or damaged symbol.
std::string demangled(std::string_view symbol);

// Returns the name without the arguments of functions, from identifiers only; demangled() falls back to it. Empty:
// unknown.
std::string demangled_long(std::string_view symbol);

struct dotted_name {
    std::vector<std::string> parts;
    bool is_member = false;  // a member of the type that the earlier parts name
    bool standard = false;   // from the language's own libraries
};

// Reads a symbol of D or Swift, if it is simple; returns nothing for others.
std::optional<dotted_name> read_dotted_symbol(std::string_view symbol);

// Returns at most name_bytes_max bytes: "beginning … end #HASH". Equal names have equal cuts.
std::string cut_name(std::string_view name);

}  // namespace millpond::symbols
