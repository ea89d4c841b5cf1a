// SPDX-License-Identifier: BSL-1.0
#include "lab/attach/traced_thread.hpp"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "lab/program/program.hpp"

namespace millpond::attach {
namespace {

constexpr int event_stop = 128;  // PTRACE_EVENT_STOP, in the third byte of a status

// The system calls that a stop ends with EINTR, before they have had any effect.
constexpr long calls_ended_by_stops[] = {
    SYS_epoll_wait,   SYS_epoll_pwait,   SYS_epoll_pwait2,   SYS_semop,   SYS_semtimedop, SYS_rt_sigtimedwait,
    SYS_io_getevents, SYS_io_pgetevents, SYS_io_uring_enter, SYS_read,    SYS_readv,      SYS_recvfrom,
    SYS_recvmsg,      SYS_recvmmsg,      SYS_sendto,         SYS_sendmsg, SYS_accept,     SYS_accept4};

void check(long result) {
    if (result >= 0) return;
    throw program::failure(program::environment,
                           std::string("the program ended while it was attached to (") + strerror(errno) + ")");
}

// Blocks SIGCHLD, so that none is missed between a look and the wait for it.
class child_signals {
  public:
    child_signals() {
        sigemptyset(&all_);
        sigaddset(&all_, SIGCHLD);
        pthread_sigmask(SIG_BLOCK, &all_, &before_);
    }
    ~child_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    child_signals(const child_signals&) = delete;
    child_signals& operator=(const child_signals&) = delete;

    // Returns false if none has come for 5 ms.
    [[nodiscard]] bool wait() const {
        constexpr timespec patience{0, 5'000'000};
        return sigtimedwait(&all_, nullptr, &patience) == SIGCHLD;
    }

  private:
    sigset_t all_{}, before_{};
};

void* as_pointer(std::uint64_t number) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number)); }

}  // namespace

traced_thread::traced_thread(const target_process& process, pid_t id) : process_(process), id_(id) {
    if (ptrace(PTRACE_SEIZE, id_, nullptr, nullptr) != 0) {
        const int error = errno;
        state_ = ended;
        if (!process_.has_thread_ended(id_)) process_.refuse_trace(error);
    }
}

// A thread can be let go only where it has stopped.
traced_thread::~traced_thread() {
    if (state_ == running) {
        interrupt();
        wait();
    }
    if (state_ == stopped) (void)ptrace(PTRACE_DETACH, id_, nullptr, nullptr);
}

void traced_thread::interrupt() const {
    if (state_ == running) (void)ptrace(PTRACE_INTERRUPT, id_, nullptr, nullptr);
}

// Sleeps until SIGCHLD tells of a stop, and not between tries: a thread that gives its turn away again and again comes
// last where processors are busy, and the program waits that long. A thread group's leader that has ended before other
// threads is never reported, so its state is looked at now and then.
bool traced_thread::wait_for_stop(int& status) {
    const child_signals signals;
    for (bool told = true;;) {
        const pid_t found = waitpid(id_, &status, __WALL | WNOHANG);
        if (found == id_) {
            state_ = WIFSTOPPED(status) ? stopped : ended;
            return state_ == stopped;
        }
        if (found < 0 && errno != EINTR) state_ = ended;
        if (!told && process_.has_thread_ended(id_)) state_ = ended;
        if (state_ == ended) return false;
        told = signals.wait();
    }
}

bool traced_thread::wait() {
    if (state_ != running) return state_ == stopped;
    int status = 0;
    while (wait_for_stop(status)) {
        if (status >> 16 == event_stop) {
            enter_call_again();
            return true;
        }
        if (process_.ignores(WSTOPSIG(status))) enter_call_again();
        state_ = running;
        (void)ptrace(PTRACE_CONT, id_, nullptr, as_pointer(static_cast<unsigned>(WSTOPSIG(status))));
    }
    return false;
}

void traced_thread::enter_call_again() const {
    user_regs_struct all = registers();
    const auto call = static_cast<long>(all.orig_rax);
    const bool ended_by_us = call >= 0 && static_cast<long>(all.rax) == -EINTR &&
                             std::find(std::begin(calls_ended_by_stops), std::end(calls_ended_by_stops), call) !=
                                 std::end(calls_ended_by_stops);
    if (!ended_by_us || process_.has_pending(id_)) return;
    constexpr unsigned instruction_bytes = 2;
    all.rip -= instruction_bytes;
    all.rax = all.orig_rax;
    set_registers(all);
}

user_regs_struct traced_thread::registers() const {
    user_regs_struct all{};
    check(ptrace(PTRACE_GETREGS, id_, nullptr, &all));
    return all;
}

void traced_thread::set_registers(const user_regs_struct& registers) const {
    user_regs_struct all = registers;
    check(ptrace(PTRACE_SETREGS, id_, nullptr, &all));
}

std::vector<char> traced_thread::extended_state() const {
    std::vector<char> state(std::size_t{64} << 10);
    iovec part{state.data(), state.size()};
    check(ptrace(PTRACE_GETREGSET, id_, as_pointer(NT_X86_XSTATE), &part));
    state.resize(part.iov_len);
    return state;
}

void traced_thread::set_extended_state(std::vector<char> state) const {
    iovec part{state.data(), state.size()};
    check(ptrace(PTRACE_SETREGSET, id_, as_pointer(NT_X86_XSTATE), &part));
}

std::uint64_t traced_thread::signal_mask() const {
    std::uint64_t mask = 0;
    check(ptrace(PTRACE_GETSIGMASK, id_, as_pointer(sizeof mask), &mask));
    return mask;
}

void traced_thread::set_signal_mask(std::uint64_t mask) const {
    check(ptrace(PTRACE_SETSIGMASK, id_, as_pointer(sizeof mask), &mask));
}

bool traced_thread::run_until_signal(int number) {
    int status = 0;
    int delivered = 0;
    do {
        state_ = running;
        (void)ptrace(PTRACE_CONT, id_, nullptr, as_pointer(static_cast<unsigned>(delivered)));
        if (!wait_for_stop(status)) return false;
        delivered = status >> 16 == event_stop ? 0 : WSTOPSIG(status);
    } while (delivered != number);
    return true;
}

}  // namespace millpond::attach
