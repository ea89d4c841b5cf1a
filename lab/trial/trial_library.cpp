// SPDX-License-Identifier: BSL-1.0
// The exports of libmillpond-trial.so: malloc's family over the router, and dlclose, after which contexts start over.
#include <dlfcn.h>

#include "lab/trial/router.hpp"

namespace millpond::preload {
using backend = trial::router;
}

#define MILLPOND_KEEPS_REGISTERS
#include "preload/interpose_exports.hpp"

namespace {

// Linked with -z initfirst, so this runs before the start-up code of every other library and misses none of their
// allocations.
[[gnu::constructor]] void at_start(int, char**, char** environment) { millpond::trial::router::start(environment); }

[[gnu::destructor]] void at_end() { millpond::trial::router::end(); }

}  // namespace

extern "C" [[gnu::visibility("default")]] int dlclose(void* library) noexcept {
    using function = int (*)(void*);
    static function found = nullptr;
    function next = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (next == nullptr) {
        next = reinterpret_cast<function>(dlsym(RTLD_NEXT, "dlclose"));
        __atomic_store_n(&found, next, __ATOMIC_RELAXED);
    }
    const int result = next != nullptr ? next(library) : -1;
    millpond::trial::router::after_unload();
    return result;
}
