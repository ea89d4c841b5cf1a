// SPDX-License-Identifier: BSL-1.0
// own_program: the file of the running program, also where it was started through the dynamic linker by name
// (/lib64/ld-linux-x86-64.so.2 ./program), which is what /proc/self/exe then names.
#pragma once

#include <cstddef>

namespace millpond::preload {

// Writes the absolute path with a zero behind it, as far as there is room (at least 1). Returns its length; 0: it is
// not known. Allocates nothing.
std::size_t own_program(char* to, std::size_t room) noexcept;

}  // namespace millpond::preload
