// SPDX-License-Identifier: BSL-1.0
// loaded_modules: the files that a program begins with, as the dynamic linker finds them; the program does not run.
#pragma once

#include <string>
#include <vector>

namespace millpond::measure {

// The libraries that the dynamic linker would load for `image`, LD_PRELOAD's among them, in its order; without the
// image itself and without what is not found. `linker`: the words of the command before the image, where a dynamic
// linker is called by name. Throws failure where no process can be started.
std::vector<std::string> loaded_modules(const std::string& image, const std::vector<std::string>& linker = {});

}  // namespace millpond::measure
