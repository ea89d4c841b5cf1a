// SPDX-License-Identifier: BSL-1.0
// libmillpond-record.so: the malloc layer over the recorder, and the moments at which it must act without a heap event.
#include <dlfcn.h>

#include "lab/record/recorder.hpp"

namespace millpond::preload {
using backend = record::recorder;
}

#include "preload/interpose_exports.hpp"

namespace {

// So that a program without a heap event leaves a trace that says so.
[[gnu::constructor]] void at_start() noexcept { millpond::record::recorder::start(); }
[[gnu::destructor]] void at_exit() noexcept { millpond::record::recorder::exiting(); }

}  // namespace

// Addresses of an unloaded library must not be taken for those of the next one there.
extern "C" [[gnu::visibility("default")]] int dlclose(void* handle) noexcept {
    static int (*next)(void*) = nullptr;
    if (next == nullptr) next = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
    const int result = next(handle);
    millpond::record::recorder::after_unload();
    return result;
}
