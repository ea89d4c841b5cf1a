// SPDX-License-Identifier: BSL-1.0
// conductor: ties a native program's life to that of the Python conductor that started it.
//
// The conductor names itself in the variable MILLPOND_PARENT. Whoever runs a native program by hand sets no such
// variable, and the program then outlives its shell as any other. Call it first in main: the variable is removed, so
// that measured programs do not see it.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>

namespace millpond::measure {

// Returns whether a conductor started this process; it is then killed when the conductor dies, at once if it has died.
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
