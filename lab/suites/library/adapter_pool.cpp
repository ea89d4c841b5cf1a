// SPDX-License-Identifier: BSL-1.0
#include "adapter_pool.hpp"

#include <dlfcn.h>

#include <string>

#include "lab/program/program.hpp"

namespace millpond::library {
namespace {

template <class Function>
void find(void* library, const char* path, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr) {
        throw program::failure(program::input, std::string(path) + " has no function " + name + "; see peer_adapter.h");
    }
}

}  // namespace

void load_adapter(const char* path) {
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw program::failure(program::input, ::dlerror());
    find(library, path, "millpond_peer_create", adapter.create);
    find(library, path, "millpond_peer_allocate", adapter.allocate);
    find(library, path, "millpond_peer_deallocate", adapter.deallocate);
    find(library, path, "millpond_peer_destroy", adapter.destroy);
    find(library, path, "millpond_peer_name", adapter.name);
    find(library, path, "millpond_peer_version", adapter.version);
}

}  // namespace millpond::library
