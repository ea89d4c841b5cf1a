// SPDX-License-Identifier: BSL-1.0
// entry_jump: replaces the first instructions of a function by a jump to code that reports the call and then runs them.
//
//   function:  jmp ────────▶ code near it:  save registers; told(number, stack); restore them
//              rest ◀──────────────────────  the instructions that the jump covers; jmp back
//
// A breakpoint's trap costs some 3 µs, this some 20 ns. Zydis decodes. A jump is refused, and a breakpoint used, if a
// covered instruction is a branch or a call; if one of the function's branches leads to a covered one; if call-frame
// information does not give the function's end; or if there is no room nearby. The program keeps every register, also
// vector registers; flags hold no value at an entry.
//
// Place one before any thread can run the function: at the start of the process, or while its module is being loaded.
// It stays to the end, because a thread could run half-restored bytes.
#pragma once

#include <cstdint>

#include "lab/probes/wanted_scopes.hpp"

namespace millpond::probes {

class entry_jump {
  public:
    // `stack`: where the return address of the call lies.
    using listener = void (*)(std::uint64_t number, std::uintptr_t stack) noexcept;

    // Returns false if it is refused; nothing has changed then.
    static bool place(std::uintptr_t entry, const code_range& module, unsigned number, listener told) noexcept;
    [[nodiscard]] static bool is_in_place(std::uintptr_t entry) noexcept;
};

}  // namespace millpond::probes
