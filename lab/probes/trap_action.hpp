// SPDX-License-Identifier: BSL-1.0
// trap_action: shares SIGTRAP between the breakpoints and the program.
//
//   trap ─▶ ours ─▶ a breakpoint of ours?  ─no▶ pass_on: the program's handler, or the default action
//
// The handler blocks all signals, and runs on the alternate stack if the thread has one. The program's own action is
// stored and reported to it, but never installed. Like sigaction of one signal, not for several threads at once.
#pragma once

#include <signal.h>

namespace millpond::probes {

class trap_action {
  public:
    using handler = void (*)(int, siginfo_t*, void*);

    // Installs the handler and unblocks SIGTRAP on this thread; false if that is impossible.
    static bool take(handler ours) noexcept;
    // Stores the program's action for SIGTRAP and returns its previous one.
    static void exchange(const struct sigaction* fresh, struct sigaction* before) noexcept;
    // Handles a trap that is not ours.
    static void pass_on(int signal, siginfo_t* info, void* context) noexcept;
};

}  // namespace millpond::probes
