// SPDX-License-Identifier: BSL-1.0
// redirection: sends the calls of a program that already runs to the functions of this library, and back.
//
//   program ─▶ slot of malloc ─▶ the program's malloc         before enable(), and after disable()
//                              ─▶ ours ─▶ the program's        between
//
// A call of another module's function goes through a slot (GOT) that the dynamic linker has filled. enable() walks the
// relocations of all modules and rewrites each slot that holds a function of the table, and each that is not bound yet
// and names one. It also changes the symbol tables of the modules that define these functions, so that modules loaded
// later, slots bound later, and dlsym find ours. disable() changes all of it back, also what was bound between.
//
// Calls inside one module do not pass a slot, and copies that the program made of a function's address stay: neither
// is seen. Modules in other namespaces (dlmopen) stay as they are. The dynamic linker itself is, too.
//
// look_up: any thread, as any caller of dl_iterate_phdr. enable, disable: every other thread is stopped, and none is
// inside the dynamic linker. They take no lock and allocate nothing. O(relocations with a symbol).
#pragma once

#include <cstdint>

namespace millpond::preload {

class redirection {
  public:
    enum result : int { ready, no_malloc, own_malloc };

    // Finds the program's functions of the table, and makes next_symbol find them. Call it before anything is
    // redirected.
    static result look_up() noexcept;
    // Both return the number of slots that they have changed.
    static std::uint64_t enable() noexcept;
    static std::uint64_t disable() noexcept;
};

}  // namespace millpond::preload
