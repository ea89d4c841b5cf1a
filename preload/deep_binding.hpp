// SPDX-License-Identifier: BSL-1.0
// deep_binding: keeps one malloc for the whole process where the program opens libraries with RTLD_DEEPBIND.
//
//   dlopen(…, RTLD_DEEPBIND): the library looks for malloc in its own scope first: [itself, the C library, …]
//                                                     and finds the C library's, behind every preloaded one
//
// Blocks would then be freed on another heap than they came from. So before the first such library is opened, the
// entries of malloc's family in the C library's table of symbols are made to name the preloaded functions: whoever
// finds the C library's malloc finds ours. All other symbols are bound as the program wants it. Where the table cannot
// be written, or the program brought a malloc in a library, the flag is taken away instead.
//
// dlopen_exports.hpp has the two functions that a library must export for it.
#pragma once

namespace millpond::preload {

class deep_binding {
  public:
    // Before dlopen: the flags to open with. Thread-safe; leaves errno as it was.
    static int before_open(int flags) noexcept;

  private:
    static bool redirect_libc() noexcept;
};

}  // namespace millpond::preload
