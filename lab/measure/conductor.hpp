// SPDX-License-Identifier: BSL-1.0
// conductor: ties a native program's life to that of the Python conductor that started it.
//
// The conductor names itself in the environment variable MILLPOND_PARENT. A native program that is run by hand has no
// such variable and outlives its shell like any other. Call the function first in main: it removes the variable, so
// that measured programs do not see it.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>

namespace millpond::measure {

// Returns whether a conductor started this process. If so, the process is killed when the conductor dies, or at once if
// it is already dead.
inline bool die_with_conductor() {
    const char* const named = std::getenv("MILLPOND_PARENT");
    if (named == nullptr) return false;
    const long parent = std::strtol(named, nullptr, 10);
    ::unsetenv("MILLPOND_PARENT");
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    return true;
}

}  // namespace millpond::measure
