// SPDX-License-Identifier: BSL-1.0
// loading: loads a plugin, lets it allocate, and unloads it, again and again. Usage: loading PLUGIN [TIMES]
//
// Between two loads it maps memory where the plugin was, so that the next one lands elsewhere: an address then belongs
// to other code than before. Objects that the plugin allocated outlive it.

#include <dlfcn.h>
#include <sys/mman.h>

#include "marked.hpp"

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const unsigned long times = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100;
    void* outliving[10] = {};
    for (unsigned long i = 0; i < times; ++i) {
        void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) return 96;
        ++marked::allocations;  // its constructor's
        const auto allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(plugin, "plugin_allocate"));
        if (allocate == nullptr) return 95;
        for (unsigned long j = 0; j < 20; ++j) {
            ++marked::allocations;
            void*& place = outliving[(i + j) % 10];
            if (place != nullptr) marked::release(place);
            place = allocate(marked::bytes(j));
        }
        ++marked::frees;  // its destructor's
        dlclose(plugin);
        if (i % 3 == 0) mmap(nullptr, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    for (void* object : outliving) {
        if (object != nullptr) marked::release(object);
    }
    marked::say();
    return 0;
}
