// SPDX-License-Identifier: BSL-1.0
// traced_thread: one thread of another process, traced by ptrace until this object ends.
//
//   traced_thread t(process, id)   it runs on (PTRACE_SEIZE)
//   t.interrupt()                  asks it to stop, and does not wait
//   t.wait()                       until it has stopped; false: it has ended
//   ~traced_thread()               it goes on
//
// A signal that comes in between is delivered first. A system call that waits is interrupted, and the kernel begins it
// again. Some calls return EINTR instead, even though the program has received no signal, or one that it ignores
// (epoll_wait, sigtimedwait, reads with a time-out). wait() makes the thread enter these again, with their whole
// time-out. Only the thread that made this object may use it. x86-64.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <vector>

#include "lab/attach/target_process.hpp"

namespace millpond::attach {

class traced_thread {
  public:
    // Throws failure if the process must not be traced. If the thread has ended, wait() says so.
    traced_thread(const target_process& process, pid_t id);
    ~traced_thread();
    traced_thread(const traced_thread&) = delete;
    traced_thread& operator=(const traced_thread&) = delete;

    void interrupt() const;
    // Waits until the thread has stopped; false if it has ended. Call interrupt() before.
    bool wait();
    pid_t id() const { return id_; }

    // The following are for a stopped thread. They throw failure if it has been killed meanwhile.
    user_regs_struct registers() const;
    void set_registers(const user_regs_struct& registers) const;
    // The x87, SSE and AVX registers, in the kernel's form.
    std::vector<char> extended_state() const;
    void set_extended_state(std::vector<char> state) const;
    std::uint64_t signal_mask() const;
    void set_signal_mask(std::uint64_t mask) const;
    // Continues until the thread would receive `number`, which it does not; other stops are passed over. Returns false
    // if it has ended.
    bool run_until_signal(int number);

  private:
    enum states { running, stopped, ended };
    bool wait_for_stop(int& status);
    void enter_call_again() const;

    const target_process& process_;
    pid_t id_;
    states state_ = running;
};

}  // namespace millpond::attach
