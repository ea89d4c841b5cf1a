// SPDX-License-Identifier: BSL-1.0
// module_functions: the functions of one ELF file, each with its address range, its name and its owner (owner.hpp).
//
//   address    0x1000        0x1040    0x1090      0x10c0
//   .symtab    │ parse       │ grow    │           │ …          a sized symbol covers its size and no more
//   .eh_frame  │ f0          │ f1      │ f2        │            what no symbol covers belongs to the call-frame entries
//   all()      │ parse       │ grow    │ prog!f2@1c9f04aa │
//
// Names come from .symtab, .dynsym, the separate debug file that the build-id leads to, and .gnu_debugdata. A function
// without a symbol is `module!fN@BUILD-ID`: N its ordinal in .eh_frame by address, BUILD-ID shortened to 8 digits. So
// every name is the same from run to run, and none contains an address. Addresses are those of the file (address in
// memory − bias).
//
// Use it for contexts (ask for the return address − 1) and for turning owners back into address ranges.
// Opening: O(symbols · log symbols), without demangling, which happens at the first find() of a function or in all().
// find(): O(log functions). Not thread-safe, because of that. Throws std::runtime_error where the file cannot be read.
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
    std::string_view symbol{};  // as the file has it; as long-lived as the module_functions; empty: none
    bool entry = true;  // calls come to `first`; false for a .cold part, and for what an inner symbol has cut off
};

class module_functions {
  public:
    explicit module_functions(const std::string& path);
    ~module_functions();
    module_functions(module_functions&&) noexcept;
    module_functions& operator=(module_functions&&) noexcept;

    // The function whose range holds a file address, or null. The pointer stays valid as long as *this.
    const function* find(std::uint64_t address) const noexcept;
    // Every range, sorted by address; ranges do not overlap.
    const std::vector<function>& all() const;
    const std::string& build_id() const;  // hex, empty where the file has none
    const std::string& name() const;      // the file's name without its folders

  private:
    struct state;
    std::unique_ptr<state> state_;
};

// The C and C++ run-time libraries, the loader, and preloaded mallocs: all that they do is done for their caller.
bool is_standard_module(std::string_view path) noexcept;

// In hex; empty where there is no such file, or no build-id in it.
std::string build_id_of(const std::string& path);

}  // namespace millpond::symbols
