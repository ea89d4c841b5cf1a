// SPDX-License-Identifier: BSL-1.0
// debug_info: what the debug information (DWARF) of an ELF file says of an address: the functions that the compiler
// inlined there, the places of their calls, and the variables and members that a function can use.
//
//   address ─▶ unit ─▶ function ─▶ inlined function ─▶ inlined function      frames(): from the innermost outward
//                        └─ its variables, its class's members, what its lambda captures, statics      declarations()
//
// Opening: null where the file has no debug information, neither in itself nor where debug_file looks for it, or where
// the library libdw was not there when this was built; the reason is told. Units are indexed when an address first
// falls into them; answers are kept. Not thread-safe. Damaged information gives fewer answers, never an error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace millpond::symbols {

struct source_place {
    std::string file;  // as the compiler knew it, with its folder; empty: unknown
    int line = 0;
};

struct debug_frame {
    std::string function;  // demangled
    source_place place;    // of the call that leads inward, or of the address itself
    bool inlined = false;
    std::uint64_t die = 0;  // for declarations()
    std::string symbol{};   // of a language whose names only symbols tell apart from those of C++; else empty
};

// What a source file is written in: "C", "C++" or another name; the standard it was compiled by, as "C++17". Empty: not
// known.
struct source_language {
    std::string name, standard;
};

struct declaration {
    std::string name, kind, type;  // kind: member, local variable, parameter, captured, static variable
    source_place place;
    bool constant = false;  // allocates where it is made, and nowhere else
};

class debug_info {
  public:
    // `why`: the reason where there is none, as a half-sentence with what to do.
    static std::unique_ptr<debug_info> open(const std::string& path, std::string& why);
    ~debug_info();

    // The functions at an address of the file, the innermost first. Empty where nothing is known.
    const std::vector<debug_frame>& frames(std::uint64_t address);
    // Where the function at an address is declared, not what was inlined into it.
    source_place declared(std::uint64_t address);
    // What the function of a frame can name, with the type of each, references and pointers taken off.
    const std::vector<declaration>& declarations(const debug_frame& frame);
    // Why the unit of a frame describes no types: it has line tables alone (-g1). Empty: it does.
    std::string why_no_types(const debug_frame& frame);
    // The language of the function of a frame.
    source_language language(const debug_frame& frame);
    // Why frames() has nothing for an address; empty: no reason is known.
    std::string why_nothing(std::uint64_t address);

  private:
    struct state;
    explicit debug_info(std::unique_ptr<state> opened);
    std::unique_ptr<state> state_;
};

}  // namespace millpond::symbols
