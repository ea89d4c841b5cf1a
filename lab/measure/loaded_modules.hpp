// SPDX-License-Identifier: BSL-1.0
// loaded_modules: lists the files that a program starts with, as the dynamic linker finds them, without running it.
#pragma once

#include <string>
#include <vector>

namespace millpond::measure {

// Returns the libraries that the dynamic linker would load for `image`, including those of LD_PRELOAD, in its order.
// The list contains neither the image itself nor libraries that are not found. `linker`: the words of the command
// before the image, if a dynamic linker is called by name. Throws failure if no process can be started.
std::vector<std::string> loaded_modules(const std::string& image, const std::vector<std::string>& linker = {});

}  // namespace millpond::measure
