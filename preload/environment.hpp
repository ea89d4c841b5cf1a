// SPDX-License-Identifier: BSL-1.0
// environment: reads a variable of the process, for libraries that start before the C library does.
#pragma once

#include <cstddef>

namespace millpond::preload {

// Copies the value of a variable, also before the C library has set environ; empty if it is not set or does not fit.
void find_variable(const char* name, char* to, std::size_t room) noexcept;

// Returns whether a switch is set to anything but 0.
[[nodiscard]] bool is_switched_on(const char* name) noexcept;

}  // namespace millpond::preload
