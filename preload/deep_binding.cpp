// SPDX-License-Identifier: BSL-1.0
#include "preload/deep_binding.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "preload/real.hpp"
#include "preload/spin_lock.hpp"
#include "preload/symbol_table.hpp"

namespace millpond::preload {
namespace {

// The functions of interpose_exports.hpp and usage_exports.hpp that the C library has as well.
constexpr const char* allocation_functions[] = {"malloc",         "free",        "calloc",      "realloc",
                                                "reallocarray",   "memalign",    "valloc",      "pvalloc",
                                                "posix_memalign", "mallinfo2",   "mallinfo",    "malloc_usable_size",
                                                "aligned_alloc",  "malloc_trim", "malloc_stats"};

}  // namespace

// Redirects only functions that are ours for all other modules: a malloc inside the executable keeps its own heap.
bool deep_binding::redirect_libc() noexcept {
    if (!real::is_libc()) return false;
    const link_map* const libc = module_of(reinterpret_cast<const void*>(&__libc_malloc));
    const link_map* const ours = module_of(reinterpret_cast<const void*>(&deep_binding::redirect_libc));
    if (libc == nullptr || ours == nullptr) return false;
    symbol_table table(*libc);
    for (const char* name : allocation_functions) {
        const void* const first = dlsym(RTLD_DEFAULT, name);
        if (first != nullptr && module_of(first) == ours && !table.move(name, first)) return false;
    }
    return true;
}

int deep_binding::before_open(int flags) noexcept {
    if ((flags & RTLD_DEEPBIND) == 0) return flags;
    enum : int { untried, redirected, impossible };
    static constinit int state = untried;
    static constinit spin_lock lock;
    const int before = errno;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == untried && !real::in_executable()) {
        const patient_guard guard(lock);
        if (guard && state == untried)
            __atomic_store_n(&state, redirect_libc() ? redirected : impossible, __ATOMIC_RELEASE);
    }
    errno = before;
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == impossible ? flags & ~RTLD_DEEPBIND : flags;
}

}  // namespace millpond::preload
