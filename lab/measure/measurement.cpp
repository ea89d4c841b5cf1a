// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/measurement.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "lab/measure/clocks.hpp"
#include "lab/program/program.hpp"

namespace millpond::measure {
namespace {

volatile sig_atomic_t running_child = 0;
volatile sig_atomic_t early_signal = 0;  // one that came before there was a program to receive it

void pass_on(int signal) {
    const int saved = errno;
    if (running_child > 0)
        ::kill(running_child, signal);
    else
        early_signal = signal;
    errno = saved;
}

void stay(int) {}

// Signal handlers while a program runs. Signals that the caller ignores stay ignored, and the program inherits that, as
// under nohup.
class signal_guard {
  public:
    signal_guard() {
        early_signal = 0;
        for (std::size_t i = 0; i < count; ++i) {
            struct sigaction action;
            std::memset(&action, 0, sizeof action);
            action.sa_handler = handled[i].handler;
            ::sigaction(handled[i].signal, nullptr, &before_[i]);
            if (before_[i].sa_handler != SIG_IGN) ::sigaction(handled[i].signal, &action, nullptr);
        }
    }
    signal_guard(const signal_guard&) = delete;
    signal_guard& operator=(const signal_guard&) = delete;
    ~signal_guard() {
        running_child = 0;
        for (std::size_t i = 0; i < count; ++i) ::sigaction(handled[i].signal, &before_[i], nullptr);
    }

  private:
    struct handled_signal {
        int signal;
        void (*handler)(int);
    };
    static constexpr std::size_t count = 4;
    static constexpr handled_signal handled[count] = {
        {SIGINT, stay}, {SIGQUIT, stay}, {SIGTERM, pass_on}, {SIGHUP, pass_on}};
    struct sigaction before_[count];
};

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

measurement measure(const std::string& path, const std::vector<std::string>& arguments, const start_options& options) {
    signal_guard guard;
    const double begin = wall_seconds();
    const pid_t pid = start(path, arguments, options);
    running_child = pid;
    if (early_signal != 0) ::kill(pid, early_signal);
    int status = 0;
    rusage usage;
    while (::wait4(pid, &status, 0, &usage) < 0) {
        if (errno != EINTR)
            throw program::failure(program::environment,
                                   "lost the program '" + path + "' while waiting for it: " + std::strerror(errno));
    }
    running_child = 0;
    measurement result;
    result.wall_seconds = wall_seconds() - begin;
    result.user_seconds = seconds(usage.ru_utime);
    result.system_seconds = seconds(usage.ru_stime);
    result.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    result.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
    result.page_faults = static_cast<std::uint64_t>(usage.ru_minflt) + result.major_faults;
    result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return result;
}

void add_padding(start_options& options, std::size_t bytes) {
    if (bytes > 0) options.environment.emplace_back(padding_variable, std::string(bytes, 'x'));
}

}  // namespace millpond::measure
