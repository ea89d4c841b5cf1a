// SPDX-License-Identifier: BSL-1.0
// entry_jump: a jump over the first instructions of a function, to code that tells of the call and then runs them.
//
//   function:  jmp ────────▶ code near it:  save registers; told(number, stack); restore them
//              rest ◀──────────────────────  the instructions that the jump covers; jmp back
//
// A breakpoint's trap costs some 3 µs, this some 20 ns. Zydis decodes. Refused, and left to a breakpoint: where an
// instruction that it would cover is a branch or a call, where one of the function's branches leads to what it would
// cover, where call-frame information does not say where the function ends, where there is no room near it. The program
// keeps every register, also those of vectors; flags are nobody's at an entry.
//
// Place one before any thread can run the function: at the start of the process, or while its module is being loaded.
// It stays to the end: restored bytes could be met half-way.
#pragma once

#include <cstdint>

#include "lab/probes/wanted_scopes.hpp"

namespace millpond::probes {

class entry_jump {
  public:
    // `stack`: where the return address of the call lies.
    using listener = void (*)(std::uint64_t number, std::uintptr_t stack) noexcept;

    // False where it is refused; nothing has changed then.
    static bool place(std::uintptr_t entry, const code_range& module, unsigned number, listener told) noexcept;
    [[nodiscard]] static bool is_in_place(std::uintptr_t entry) noexcept;
};

}  // namespace millpond::probes
