// SPDX-License-Identifier: BSL-1.0
// own_program: the path of the running program, even if it was started through the dynamic linker
// (/lib64/ld-linux-x86-64.so.2 ./program). /proc/self/exe then names the linker.
#pragma once

#include <cstddef>

namespace millpond::preload {

// Writes the absolute path with a terminating zero, as far as there is room (at least 1). Returns its length; 0 if it
// is not known. Allocates nothing.
std::size_t own_program(char* to, std::size_t room) noexcept;

}  // namespace millpond::preload
