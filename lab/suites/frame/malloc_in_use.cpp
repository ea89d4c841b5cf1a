// SPDX-License-Identifier: BSL-1.0
#include "malloc_in_use.hpp"

#include <dlfcn.h>

namespace millpond::frame {

std::string malloc_in_use() {
    // What every library of the process calls: the first malloc in the loader's order.
    void* const found = ::dlsym(RTLD_DEFAULT, "malloc");
    Dl_info info;
    if (found == nullptr || ::dladdr(found, &info) == 0 || info.dli_fname == nullptr) return {};
    return info.dli_fname;
}

}  // namespace millpond::frame
