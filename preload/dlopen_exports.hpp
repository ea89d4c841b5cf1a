// SPDX-License-Identifier: BSL-1.0
// dlopen_exports: the dlopen and dlmopen of a preloaded malloc. They adjust the flags (deep_binding) and continue in
// the functions behind them.
//
// Both end in a jump, so the C library still finds the caller's return address: the caller's module decides where it
// searches (RUNPATH, $ORIGIN) and in which namespace. For 64-bit machines; included by interpose_exports.hpp.
#pragma once

#include <dlfcn.h>

#include "preload/deep_binding.hpp"
#include "preload/machine.hpp"

#ifdef MILLPOND_JUMP_BEHIND

extern "C" {

struct millpond_next_call {
    void* function;
    long flags;
};

[[gnu::used, gnu::visibility("hidden")]] inline millpond_next_call millpond_before_dlopen(const char*,
                                                                                          int flags) noexcept {
    static constinit void* next = nullptr;
    if (__atomic_load_n(&next, __ATOMIC_RELAXED) == nullptr)
        __atomic_store_n(&next, dlsym(RTLD_NEXT, "dlopen"), __ATOMIC_RELAXED);
    return {next, millpond::preload::deep_binding::before_open(flags)};
}

[[gnu::used, gnu::visibility("hidden")]] inline millpond_next_call millpond_before_dlmopen(Lmid_t space, const char*,
                                                                                           int flags) noexcept {
    static constinit void* next = nullptr;
    if (__atomic_load_n(&next, __ATOMIC_RELAXED) == nullptr)
        __atomic_store_n(&next, dlsym(RTLD_NEXT, "dlmopen"), __ATOMIC_RELAXED);
    return {next, space == LM_ID_BASE ? millpond::preload::deep_binding::before_open(flags) : flags};
}

}  // extern "C"

MILLPOND_JUMP_BEHIND(dlopen, millpond_before_dlopen, 1)
MILLPOND_JUMP_BEHIND(dlmopen, millpond_before_dlmopen, 2)

#endif
