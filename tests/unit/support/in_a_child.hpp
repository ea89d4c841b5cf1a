// SPDX-License-Identifier: BSL-1.0
// in_a_child: runs something in a child process, which has only this thread and has limits of its own.
#pragma once

#if !defined(_WIN32)  // which has no fork
#include <sys/wait.h>
#include <unistd.h>

namespace millpond::test {

// Runs `work`, which returns true on success. Returns 0 on success and 1 on failure; minus the signal that ended the
// child.
template <class Work>
int status_of_child(Work work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);  // a child that hangs ends by this signal
        _exit(work() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace millpond::test
#endif
