// SPDX-License-Identifier: BSL-1.0
// deep_binding: keeps one malloc for the whole process if the program opens libraries with RTLD_DEEPBIND.
//
//   dlopen(…, RTLD_DEEPBIND): the library looks for malloc in its own scope first: [itself, the C library, …]
//                                                     and finds the C library's, behind every preloaded one
//
// Blocks would then be freed on another heap than they came from. So before the first such library is opened, the
// entries of malloc's family in the C library's symbol table are changed to the preloaded functions: a look-up of the C
// library's malloc finds ours. All other symbols are bound as the program wants. If the table cannot be written, or the
// program brought a malloc in a library, the flag is removed instead.
//
// dlopen_exports.hpp defines the two functions that a library must export for it.
#pragma once

namespace millpond::preload {

class deep_binding {
  public:
    // Call it before dlopen: returns the flags to open with. Thread-safe; leaves errno as it was.
    static int before_open(int flags) noexcept;

  private:
    static bool redirect_libc() noexcept;
};

}  // namespace millpond::preload
