// SPDX-License-Identifier: BSL-1.0
// end_as: ends this process like a program that it has run: by the same status or signal, without a second core file.
#pragma once

#include <signal.h>
#include <sys/resource.h>

namespace millpond::measure {

// Returns main's return value. For a `signal` other than 0 it does not return, unless that signal is not fatal.
inline int end_as(int exit_status, int signal) {
    if (signal == 0) return exit_status;
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    ::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(signal);
    return 128 + signal;
}

}  // namespace millpond::measure
