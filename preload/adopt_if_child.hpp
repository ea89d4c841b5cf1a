// SPDX-License-Identifier: BSL-1.0
// adopt_if_child: makes a child that was forked while other threads ran independent of them, at its first wait for a
// lock. It retires the locks that a thread of the parent held, because no thread of the child would ever release them.
//
// To hold the locks during each fork would be no solution: fork takes the C library's stream locks after the atfork
// handlers, and a thread that holds such a stream may be waiting for one of ours.
//
// Signals are blocked meanwhile, so that no handler of this thread finds it half-way; other threads wait for a few
// stores.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/fork_mark.hpp"
#include "preload/holder_lock.hpp"

namespace millpond::preload {

// Calls retire(survivor) once in a child. The survivor is the thread that called fork, or 0 if that is unknown.
template <class Retire>
void adopt_if_child(Retire&& retire) noexcept {
    if (fork_mark::is_set()) return;
    sigset_t all, usual;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &usual);
    if (fork_mark::claim()) {
        // The thread that called fork is the first of the child; only if it is the caller are its own calls known.
        const bool is_first = syscall(SYS_gettid) == syscall(SYS_getpid);
        retire(is_first ? static_cast<holder_lock::thread_id>(pthread_self()) : 0);
        fork_mark::set();
    } else {
        while (!fork_mark::is_set()) sched_yield();
    }
    pthread_sigmask(SIG_SETMASK, &usual, nullptr);
}

}  // namespace millpond::preload
