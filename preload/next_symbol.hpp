// SPDX-License-Identifier: BSL-1.0
// next_symbol: the function of a name that the program would call without this library.
//
//   preloaded                    program ─▶ ours ─▶ the next one in the order of loading (RTLD_NEXT)
//   loaded while it runs         nothing comes after us: who redirects the calls knows the functions (redirection.hpp)
//
// Any thread, as any caller of dlsym.
#pragma once

#include <dlfcn.h>

namespace millpond::preload {

class next_symbol {
  public:
    using finder = void*(const char* name) noexcept;

    // Returns null if it does not exist.
    static void* find(const char* name) noexcept {
        finder* const replaced = __atomic_load_n(&finder_, __ATOMIC_ACQUIRE);
        return replaced != nullptr ? replaced(name) : dlsym(RTLD_NEXT, name);
    }
    // From now on that function finds them.
    static void replace(finder* by) noexcept { __atomic_store_n(&finder_, by, __ATOMIC_RELEASE); }
    static bool is_replaced() noexcept { return __atomic_load_n(&finder_, __ATOMIC_RELAXED) != nullptr; }

  private:
    static constinit inline finder* finder_ = nullptr;
};

}  // namespace millpond::preload
