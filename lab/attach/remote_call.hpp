// SPDX-License-Identifier: BSL-1.0
// remote_call: calls functions of another process in a stopped thread of it, and leaves the thread as it was.
//
//   registers, signal mask, errno ─saved─▶ call(function, …) … ─▶ all of it restored by the destructor
//
// A call begins on a stack of its own (mapped below the thread's red zone first), and ends by a return to an address
// that nothing maps, whose SIGSEGV the tracer takes. All other signals are blocked meanwhile. The thread must be at a
// place where it could call these functions itself; thread_places knows. Throws failure if the process ends.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "lab/attach/traced_thread.hpp"

namespace millpond::attach {

// Addresses of functions of the process's C library.
struct libc_functions {
    std::uint64_t mmap = 0, munmap = 0, errno_location = 0, dlopen = 0, dlerror = 0;
};

class remote_call {
  public:
    // The thread must be stopped, and outlive this object.
    remote_call(traced_thread& thread, const libc_functions& libc);
    ~remote_call();
    remote_call(const remote_call&) = delete;
    remote_call& operator=(const remote_call&) = delete;

    // Calls a function with at most six numbers or addresses, and returns its result.
    std::uint64_t call(std::uint64_t function, std::initializer_list<std::uint64_t> arguments);
    pid_t thread() const { return thread_.id(); }
    // Copies a text (at most 8 KiB) to the process, for the next call. Returns its address there.
    std::uint64_t place(const std::string& text);
    // Reads a text of the process, up to a zero or 1 KiB.
    std::string text_at(std::uint64_t address) const;

  private:
    void write(std::uint64_t address, const void* from, std::size_t bytes) const;
    bool read(std::uint64_t address, void* to, std::size_t bytes) const;
    void restore();

    traced_thread& thread_;
    const libc_functions libc_;
    const user_regs_struct registers_;
    const std::vector<char> extended_;
    const std::uint64_t mask_;
    std::uint64_t stack_end_;
    std::uint64_t own_stack_ = 0;  // 0: not mapped yet
    std::uint64_t errno_at_ = 0;
    int errno_ = 0;
};

}  // namespace millpond::attach
