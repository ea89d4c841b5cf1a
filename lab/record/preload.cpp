// SPDX-License-Identifier: BSL-1.0
// libmillpond-record.so: the malloc layer over the recorder, and the moments at which it must act without a heap event.
// libmillpond-sample.so (MILLPOND_SAMPLES): the same over the sampler.
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lab/record/recorder.hpp"
#include "lab/record/system.hpp"

#ifdef MILLPOND_SAMPLES
#include "lab/record/sampler.hpp"

namespace millpond::preload {
using backend = record::sampler;
}
#else
namespace millpond::preload {
using backend = record::recorder;
}

#define MILLPOND_KEEPS_REGISTERS
#define MILLPOND_SLEEPS
#endif
#include "preload/interpose_exports.hpp"
#include "preload/next_symbol.hpp"
#include "preload/redirection.hpp"

namespace {

// So that a program without a heap event leaves a trace that says so.
[[gnu::constructor]] void at_start() noexcept { millpond::record::recorder::start(); }
[[gnu::destructor]] void at_exit() noexcept { millpond::record::recorder::exiting(); }

// The function of this name behind ours: the C library's, or one of another preloaded library, which sees the calls as
// it would without us. The recorder's own first system call looks it up, before the program has threads or forks.
template <class Function>
Function next_of(Function& kept, const char* name) noexcept {
    Function found = __atomic_load_n(&kept, __ATOMIC_RELAXED);
    if (found == nullptr) {
        found = reinterpret_cast<Function>(millpond::preload::next_symbol::find(name));
        __atomic_store_n(&kept, found, __ATOMIC_RELAXED);
    }
    return found;
}

}  // namespace

// include/millpond/phase.h finds it by this name.
extern "C" [[gnu::visibility("default")]] void millpond_record_phase(const char* name, std::size_t bytes) noexcept {
    millpond::record::recorder::begin_phase(name, bytes);
}

// For lab/attach, which calls them by these names in a program that runs.
extern "C" {
[[gnu::visibility("default")]] int millpond_attach_join(const char* partial, unsigned places_frees) noexcept {
    return millpond::preload::backend::join(partial, places_frees != 0);
}
[[gnu::visibility("default")]] bool millpond_attach_is_at_rest() noexcept {
    return millpond::record::recorder::is_at_rest();
}
[[gnu::visibility("default")]] std::uint64_t millpond_attach_enable() noexcept {
    return millpond::preload::redirection::enable();
}
[[gnu::visibility("default")]] std::uint64_t millpond_attach_disable() noexcept {
    return millpond::preload::redirection::disable();
}
[[gnu::visibility("default")]] bool millpond_attach_leave() noexcept { return millpond::record::recorder::leave(); }
}

// Addresses of an unloaded library must not be taken for those of the next one there.
extern "C" [[gnu::visibility("default")]] int dlclose(void* handle) noexcept {
    static int (*next)(void*) = nullptr;
    const int result = next_of(next, "dlclose")(handle);
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
    static int (*next)(int, ...) = nullptr;
    return next_of(next, "prctl")(option, a[0], a[1], a[2], a[3]);
}

extern "C" [[gnu::visibility("default")]] long syscall(long number, ...) noexcept {
    va_list arguments;
    va_start(arguments, number);
    long a[6];
    for (long& one : a) one = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_seccomp) millpond::record::recorder::before_filter();
    static long (*next)(long, ...) = nullptr;
    return next_of(next, "syscall")(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
