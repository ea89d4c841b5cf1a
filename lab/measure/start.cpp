// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/start.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "lab/program/program.hpp"

namespace millpond::measure {
namespace {

// The message that the child sends through the pipe when it cannot become the program.
struct child_failure {
    int stage;  // 0, 1, 2: a standard stream; 3: exec
    int error;
};

std::vector<std::string> changed_environment(const start_options& options) {
    std::vector<std::string> result;
    const auto changed = [&](std::string_view entry) {
        for (const auto& [name, value] : options.environment)
            if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') return true;
        return false;
    };
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        if (!changed(*entry)) result.emplace_back(*entry);
    for (auto change = options.environment.begin(); change != options.environment.end(); ++change) {
        bool overruled = false;
        for (auto later = change + 1; later != options.environment.end(); ++later)
            overruled |= later->first == change->first;
        if (const auto& value = change->second; value && !overruled) result.push_back(change->first + "=" + *value);
    }
    return result;
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
    std::vector<char*> result;
    result.reserve(strings.size() + 1);
    for (const std::string& s : strings) result.push_back(const_cast<char*>(s.c_str()));
    result.push_back(nullptr);
    return result;
}

// Runs between fork and exec, so it makes only async-signal-safe calls. Returns 0 or an errno.
int redirect(const std::string& path, int stream, const std::string& shared_path, int shared_stream) {
    if (path.empty()) return 0;
    if (!shared_path.empty() && path == shared_path) return ::dup2(shared_stream, stream) < 0 ? errno : 0;
    const int flags = stream == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC;
    const int opened = ::open(path.c_str(), flags, 0666);
    if (opened < 0) return errno;
    if (opened == stream) return 0;
    if (::dup2(opened, stream) < 0) return errno;
    ::close(opened);
    return 0;
}

[[noreturn]] void become(const char* path, char** arguments, char** environment, const start_options& options,
                         const sigset_t& mask, int report, pid_t caller) {
    child_failure failure{0, redirect(options.stdin_path, STDIN_FILENO, {}, -1)};
    if (failure.error == 0) failure = {1, redirect(options.stdout_path, STDOUT_FILENO, {}, -1)};
    if (failure.error == 0)
        failure = {2, redirect(options.stderr_path, STDERR_FILENO, options.stdout_path, STDOUT_FILENO)};
    if (options.dies_with_caller) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != caller) ::_exit(127);  // the caller died before that
    }
    if (failure.error == 0) {
        ::sigprocmask(SIG_SETMASK, &mask, nullptr);
        ::execve(path, arguments, environment);
        failure = {3, errno};
    }
    (void)!::write(report, &failure, sizeof failure);
    ::_exit(127);
}

program::failure explain(const child_failure& failure, const std::string& path, const start_options& options) {
    const std::string why = std::strerror(failure.error);
    switch (failure.stage) {
        case 0:
            return {program::input, "cannot read '" + options.stdin_path + "' as standard input: " + why};
        case 1:
            return {program::environment, "cannot write standard output to '" + options.stdout_path + "': " + why};
        case 2:
            return {program::environment, "cannot write standard error to '" + options.stderr_path + "': " + why};
        default: {
            const bool scarce = failure.error == ENOMEM || failure.error == EAGAIN || failure.error == E2BIG;
            return {scarce ? program::environment : program::not_started, "cannot start '" + path + "': " + why};
        }
    }
}

// Returns a descriptor above the standard streams, so that redirecting them cannot close it.
int lifted(int descriptor) {
    const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    ::close(descriptor);
    return copy;
}

}  // namespace

pid_t start(const std::string& path, const std::vector<std::string>& arguments, const start_options& options) {
    std::vector<std::string> environment = changed_environment(options);
    std::vector<char*> environment_pointers = pointers_to(environment);
    std::vector<char*> argument_pointers = pointers_to(arguments);
    int report[2];
    if (::pipe2(report, O_CLOEXEC) != 0)
        throw program::failure(program::environment, std::string("cannot make a pipe: ") + std::strerror(errno));
    report[1] = lifted(report[1]);

    // Handlers of ours must not run in the child before exec.
    sigset_t all, before;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t caller = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0)
        become(path.c_str(), argument_pointers.data(), environment_pointers.data(), options, before, report[1], caller);
    const int fork_error = errno;
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::close(report[1]);
    if (pid < 0) {
        ::close(report[0]);
        throw program::failure(program::environment,
                               std::string("cannot make a process: ") + std::strerror(fork_error));
    }

    child_failure failure;
    ssize_t got;
    do got = ::read(report[0], &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    ::close(report[0]);
    if (got != static_cast<ssize_t>(sizeof failure)) return pid;
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw explain(failure, path, options);
}

std::string preload_value(const std::string& library) {
    const char* already = std::getenv("LD_PRELOAD");
    return already != nullptr && *already != '\0' ? library + ":" + already : library;
}

}  // namespace millpond::measure
