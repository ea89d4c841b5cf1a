// SPDX-License-Identifier: BSL-1.0
// debug_info: reads from the debug information (DWARF) of an ELF file, for an address: the functions that the compiler
// inlined there, the places of their calls, and the variables and members that a function can use.
//
//   address ─▶ unit ─▶ function ─▶ inlined function ─▶ inlined function      frames(): from the innermost outward
//                        └─ its variables, its class's members, what its lambda captures, statics      declarations()
//
// open() returns null and the reason if the file has no debug information, in itself or where debug_file looks, or if
// Millpond was built without libdw. A unit is indexed when an address first falls into it; answers are kept. Not
// thread-safe. Damaged information gives fewer answers, never an error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace millpond::symbols {

struct source_place {
    std::string file;  // with its folder, as the compiler knew it; empty: unknown
    int line = 0;
};

struct debug_frame {
    std::string function;  // demangled
    source_place place;    // of the call that leads inward, or of the address itself
    bool inlined = false;
    std::uint64_t die = 0;  // for declarations()
    std::string symbol{};   // only for languages whose names look like C++: the symbol tells them apart; else empty
};

// The language of a source file ("C", "C++" or another name) and the standard it was compiled by, such as "C++17".
// Empty: unknown.
struct source_language {
    std::string name, standard;
};

struct declaration {
    std::string name, kind, type;  // kind: member, local variable, parameter, captured, static variable
    source_place place;
    bool constant = false;  // allocates only when it is made
};

class debug_info {
  public:
    // `why`: the reason if it returns null, as a half-sentence with what to do.
    static std::unique_ptr<debug_info> open(const std::string& path, std::string& why);
    ~debug_info();

    // Returns the functions at an address of the file, innermost first. Empty if nothing is known.
    const std::vector<debug_frame>& frames(std::uint64_t address);
    // Returns where the function at an address is declared; functions inlined into it do not count.
    source_place declared(std::uint64_t address);
    // Returns the names that the function of a frame can use, with their types, without references and pointers.
    const std::vector<declaration>& declarations(const debug_frame& frame);
    // Returns why the unit of a frame describes no types: it has only line tables (-g1). Empty if it describes types.
    std::string why_no_types(const debug_frame& frame);
    // Returns the language of the function of a frame.
    source_language language(const debug_frame& frame);
    // Returns why frames() has nothing for an address; empty if the reason is unknown.
    std::string why_nothing(std::uint64_t address);

  private:
    struct state;
    explicit debug_info(std::unique_ptr<state> opened);
    std::unique_ptr<state> state_;
};

}  // namespace millpond::symbols
