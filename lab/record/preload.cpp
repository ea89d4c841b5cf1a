// SPDX-License-Identifier: BSL-1.0
// libmillpond-record.so: the malloc layer over the recorder, and the moments at which it must act without a heap event.
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lab/record/recorder.hpp"
#include "lab/record/system.hpp"

namespace millpond::preload {
using backend = record::recorder;
}

#define MILLPOND_KEEPS_REGISTERS
#include "preload/interpose_exports.hpp"

namespace {

// So that a program without a heap event leaves a trace that says so.
[[gnu::constructor]] void at_start() noexcept { millpond::record::recorder::start(); }
[[gnu::destructor]] void at_exit() noexcept { millpond::record::recorder::exiting(); }

long call_kernel(long number, long a, long b, long c, long d, long e, long f) noexcept {
    const long result = millpond::preload::machine::system_call(number, a, b, c, d, e, f);
    if (millpond::record::is_error(result)) {
        errno = static_cast<int>(-result);
        return -1;
    }
    return result;
}

}  // namespace

// Addresses of an unloaded library must not be taken for those of the next one there.
extern "C" [[gnu::visibility("default")]] int dlclose(void* handle) noexcept {
    static int (*next)(void*) = nullptr;
    if (next == nullptr) next = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
    const int result = next(handle);
    millpond::record::recorder::after_unload();
    return result;
}

// The two ways to a seccomp filter: what it will not allow must be done before.
extern "C" [[gnu::visibility("default")]] int prctl(int option, ...) noexcept {
    va_list arguments;
    va_start(arguments, option);
    long a[4];
    for (long& one : a) one = va_arg(arguments, long);
    va_end(arguments);
    if (option == PR_SET_SECCOMP) millpond::record::recorder::before_filter();
    return static_cast<int>(call_kernel(SYS_prctl, option, a[0], a[1], a[2], a[3], 0));
}

extern "C" [[gnu::visibility("default")]] long syscall(long number, ...) noexcept {
    va_list arguments;
    va_start(arguments, number);
    long a[6];
    for (long& one : a) one = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_seccomp) millpond::record::recorder::before_filter();
    return call_kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
