// SPDX-License-Identifier: BSL-1.0
// signal_relay: passes signals sent to one of our programs on to the program that it has started.
//
// The terminal's signals reach that program directly. Make a relay before the program is started, so that a signal sent
// meanwhile does not end only our program. The handlers do not survive the exec. One relay for a process.
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace millpond::measure {

class signal_relay {
  public:
    signal_relay() {
        struct sigaction relay{};
        relay.sa_handler = [](int s) {
            if (program_ != 0)
                kill(program_, s);
            else
                early_ = s;
        };
        relay.sa_flags = SA_RESTART;
        for (const int s : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
            struct sigaction before{};
            sigaction(s, nullptr, &before);
            if (before.sa_handler != SIG_IGN) sigaction(s, &relay, nullptr);  // under nohup, the program ignores it too
        }
    }
    static void started(pid_t program) {
        program_ = program;
        if (early_ != 0) kill(program, early_);
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
    }

  private:
    static inline volatile pid_t program_ = 0;
    static inline volatile sig_atomic_t early_ = 0;
};

}  // namespace millpond::measure
