// SPDX-License-Identifier: BSL-1.0
// trap_action: SIGTRAP, which the breakpoints and the program share.
//
//   trap ─▶ ours ─▶ a breakpoint of ours?  ─no▶ pass_on: the program's handler, or what would have ended it
//
// The handler blocks all signals, and runs on the alternate stack where the thread has one. The program's own action is
// kept and told to it, and never installed. Not for several threads at once, as sigaction of one signal.
#pragma once

#include <signal.h>

namespace millpond::probes {

class trap_action {
  public:
    using handler = void (*)(int, siginfo_t*, void*);

    // Installs the handler and unblocks SIGTRAP on this thread; false where that cannot be.
    static bool take(handler ours) noexcept;
    // What the program sets for SIGTRAP, in place of what it has set before.
    static void exchange(const struct sigaction* fresh, struct sigaction* before) noexcept;
    // A trap that is not ours.
    static void pass_on(int signal, siginfo_t* info, void* context) noexcept;
};

}  // namespace millpond::probes
