// SPDX-License-Identifier: BSL-1.0
// thread_stop: stops all threads of a process, except one that is stopped already, until this object ends.
//
// Threads that others start meanwhile are stopped as well: it looks for more until it finds none. O(threads).
#pragma once

#include <list>

#include "lab/attach/target_process.hpp"
#include "lab/attach/traced_thread.hpp"

namespace millpond::attach {

class thread_stop {
  public:
    // Throws failure if the process must not be traced.
    thread_stop(const target_process& process, pid_t except);
    // Those that were stopped last go on first.
    ~thread_stop();
    thread_stop(const thread_stop&) = delete;
    thread_stop& operator=(const thread_stop&) = delete;

    const std::list<traced_thread>& threads() const { return threads_; }

  private:
    std::list<traced_thread> threads_;
};

}  // namespace millpond::attach
