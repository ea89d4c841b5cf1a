// SPDX-License-Identifier: BSL-1.0
// module_functions: lists the functions of one ELF file, each with its address range, name and owner (owner.hpp).
//
//   address    0x1000        0x1040    0x1090      0x10c0
//   .symtab    │ parse       │ grow    │           │ …          a sized symbol covers only its size
//   .eh_frame  │ f0          │ f1      │ f2        │            other code belongs to the call-frame entries
//   all()      │ parse       │ grow    │ prog!f2@1c9f04aa │
//
// Names come from .symtab, .dynsym, the separate debug file for the build-id, and .gnu_debugdata. A function without a
// symbol is `module!fN@BUILD-ID`: N is its ordinal in .eh_frame by address, BUILD-ID is shortened to 8 digits. So every
// name is the same from run to run, and none contains an address. Such a function is `near` the closest function with a
// symbol in its section, if that is not far: a hint for people, and part of no name, because the two may have nothing
// to do with each other. Addresses are those of the file (address in memory −
// bias).
// Use it for contexts (look up the return address − 1) and for turning owners back into address ranges.
// Opening: O(symbols · log symbols), without demangling. A function is demangled at its first find() or in all(), so
// the class is not thread-safe. find(): O(log functions). Throws std::runtime_error if the file cannot be read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab/symbols/owner.hpp"

namespace millpond::symbols {

struct function {
    std::uint64_t first, past;  // file addresses; one function may own several ranges (its .cold part, for one)
    std::string name, owner;
    owner_kind kind;
    bool named, standard;       // standard: passes ownership to its caller …
    bool allocation = false;    // … because its name says that it only allocates
    std::string_view symbol{};  // as in the file; valid as long as the module_functions; empty: none
    std::string near{};         // of a function without a symbol: the name of the closest with one; empty: none
    // calls come to `first`; false for a .cold part, and for a part that an inner symbol has cut off
    bool entry = true;
};

class module_functions {
  public:
    explicit module_functions(const std::string& path);
    ~module_functions();
    module_functions(module_functions&&) noexcept;
    module_functions& operator=(module_functions&&) noexcept;

    // Returns the function whose range holds a file address, or null. The pointer stays valid as long as *this.
    const function* find(std::uint64_t address) const noexcept;
    // Returns every range, sorted by address; ranges do not overlap.
    const std::vector<function>& all() const;
    const std::string& build_id() const;  // in hex; empty if the file has none
    const std::string& name() const;      // the file's name without its folders

  private:
    struct state;
    std::unique_ptr<state> state_;
};

// Returns whether a module is a C or C++ run-time library, the loader or a preloaded malloc: these work only for their
// caller.
bool is_standard_module(std::string_view path) noexcept;

// Returns the build-id in hex; empty if there is no such file, or it has none.
std::string build_id_of(const std::string& path);

}  // namespace millpond::symbols
