// SPDX-License-Identifier: BSL-1.0
// rust_name: reads the path of a Rust function from its symbol, in either of the two manglings of rustc.
//
//   _RNvMs_NtCs1_4cafe4shopINtB4_4BookeE3add           v0, RFC 2603    ─┐
//   _ZN4cafe4shop13Book$LT$T$GT$3add17h26206c4e7614E   legacy          ─┴▶ cafe │ shop │ Book<_> │ add
//
// Generic arguments of types are written `_`. Those of functions, hashes and disambiguators are left out: two builds of
// one program, and both manglings, give the same names. An implementation of a trait belongs to its type; if the type
// is of the standard library and the trait is not, it belongs to `<Type as Trait>`. The crate is the one that contains
// the implementation. Linear, except for back references, which are bounded. Thread-safe: no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::symbols {

struct rust_part {
    std::string text;
    bool is_function = false;  // a function or a closure
};

struct rust_name {
    std::vector<rust_part> parts;    // outermost first
    bool standard = false;           // from the libraries that come with the compiler
    bool allocates = false;          // a member of a GlobalAlloc or an Allocator of the program
    std::vector<rust_part> carried;  // the program's closure, among the generic arguments of a standard function
};

// Returns nothing for a symbol of another language or a damaged one.
std::optional<rust_name> read_rust_symbol(std::string_view symbol);

// Returns whether rustc mangled the symbol, as far as its beginning and end tell.
bool is_rust_symbol(std::string_view symbol) noexcept;

}  // namespace millpond::symbols
