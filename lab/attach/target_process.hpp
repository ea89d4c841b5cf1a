// SPDX-License-Identifier: BSL-1.0
// target_process: a running process as /proc shows it: its modules, its threads, and why it cannot be attached to.
//
// x86-64 Linux. Everything is read when it is asked for, because the process goes on. Throws failure (environment) if
// the process has ended. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millpond::attach {

// A file that a process has mapped, from its first mapping to the end of its last one.
struct mapped_file {
    std::string path;  // in the process's own mount namespace
    std::uint64_t first, past;
    std::uint64_t device, inode;

    std::string name() const { return path.substr(path.rfind('/') + 1); }
};

class target_process {
  public:
    // `proc`: where the proc file system is.
    explicit target_process(pid_t pid, std::string proc = "/proc") : proc_(std::move(proc)), pid_(pid) {}

    // Throws failure (environment), with the reason and the cure in one sentence, if Millpond cannot attach to this
    // process. `library`: the recorder's file, which the process must be able to load.
    void refuse_unfit(const std::string& library) const;
    // Throws failure with the reason why ptrace was refused (errno).
    [[noreturn]] void refuse_trace(int error) const;
    // Throws failure unless the process sees this very file by its path.
    void require_same_file(const std::string& path) const;

    pid_t pid() const { return pid_; }
    // Returns its number in its own pid namespace.
    pid_t own_pid() const;
    bool is_running() const;             // neither ended nor a zombie
    std::vector<pid_t> threads() const;  // in the order of their numbers
    bool has_thread_ended(pid_t thread) const;
    // Returns whether this thread has forked children that are there; false where the kernel does not tell.
    bool has_children(pid_t thread) const;
    // Returns whether this signal has no effect on the process, by its own choice or by default.
    bool ignores(int number) const;
    std::vector<mapped_file> modules() const;
    // The first mapped file whose name (without folders) begins so.
    std::optional<mapped_file> find_module(const std::string& name_begin) const;
    // Returns whether a module is the file that has this path here.
    bool is_same_file(const mapped_file& module, const std::string& path) const;
    std::string executable() const;
    // Returns the path by which this process reaches a file of the other one.
    std::string outside(const std::string& path) const { return folder() + "/root" + path; }
    // Returns a line of /proc/PID/status behind its name, or nothing.
    std::string status(const std::string& name) const { return status_in(folder(), name); }
    // Returns whether a mask of /proc/PID/status (SigIgn) holds that signal.
    bool has_signal(const std::string& mask, int number) const;
    // Returns whether a signal waits for that thread that it will handle.
    bool has_pending(pid_t thread) const;

  private:
    std::string folder() const { return proc_ + "/" + std::to_string(pid_); }
    static std::string status_in(const std::string& folder, const std::string& name);
    [[noreturn]] void refuse(const std::string& why) const;

    std::string proc_;
    pid_t pid_;
};

}  // namespace millpond::attach
