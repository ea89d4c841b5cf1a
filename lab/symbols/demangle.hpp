// SPDX-License-Identifier: BSL-1.0
// demangle: symbols of C++ as their language writes them, and the qualified names in symbols of D and Swift.
//
//   _ZN4shop4book3addEi              shop::book::add(int)
//   _ZN4shop4bookIJ…90 kB…EE3addEv   shop::book<first … last #1f09c2d4>::add()    longer than the C++ library reads
//   _D4shop4Book3addMFiZv            shop.Book.add, a member
//
// Rust has rust_name. Names longer than name_bytes_max are of no use to a reader: cut_name leaves out their middle, and
// a hash tells them apart. Linear. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::symbols {

inline constexpr std::size_t name_bytes_max = 240;

// Of a symbol of C++; empty where it is none, or damaged.
std::string demangled(std::string_view symbol);

// Its name without arguments of functions, from the names alone; what demangled() falls back to. Empty: unknown.
std::string demangled_long(std::string_view symbol);

struct dotted_name {
    std::vector<std::string> parts;
    bool is_member = false;  // of the type that the parts before the last one name
    bool standard = false;   // of the language's own libraries
};

// Of a symbol of D or Swift, as far as it is simple; nothing for others.
std::optional<dotted_name> read_dotted_symbol(std::string_view symbol);

// At most name_bytes_max bytes: "beginning … end #HASH". Equal names have equal cuts.
std::string cut_name(std::string_view name);

}  // namespace millpond::symbols
