// SPDX-License-Identifier: BSL-1.0
// contender_table: the names of all contenders of the library's suite, what they are, and what must be installed.
#pragma once

#include <span>

#include "lab/suites/frame/contender.hpp"

namespace millpond::library {

// Those that this program was built with, and those that it could have been.
std::span<const frame::contender> contenders();

}  // namespace millpond::library
