// SPDX-License-Identifier: BSL-1.0
// thread_stop: stops all threads of a process, except one that is stopped already, until this object ends.
//
//   trace the threads without children, then those with children ─▶ ask all to stop ─▶ wait for each
//
// While a thread is traced, a SIGCHLD of its children is not ignored, even if the program ignores it (sig_ignored in
// the kernel), and can end a call of any thread with EINTR. A traced thread enters its call again, but one that is not
// traced is lost to us. So threads with children are traced last and go on first. What is left is the moment in which
// a thread forks, and its child ends, between the look at its children and the trace of the last thread.
//
// Threads that others start meanwhile are stopped as well: it looks for more until it finds none. O(threads).
#pragma once

#include <list>
#include <set>
#include <vector>

#include "lab/attach/target_process.hpp"
#include "lab/attach/traced_thread.hpp"

namespace millpond::attach {

class thread_stop {
  public:
    // Throws failure if the process must not be traced.
    thread_stop(const target_process& process, pid_t except);
    ~thread_stop();
    thread_stop(const thread_stop&) = delete;
    thread_stop& operator=(const thread_stop&) = delete;

    const std::list<traced_thread>& threads() const { return threads_; }

  private:
    std::vector<traced_thread*> trace_others();

    const target_process& process_;
    std::set<pid_t> known_;
    std::list<traced_thread> threads_;
};

}  // namespace millpond::attach
