// SPDX-License-Identifier: BSL-1.0
// start: starts a program in a fresh process, with changes to its environment and its standard streams.
//
// The child is made by fork, not by vfork or posix_spawn. The new program starts with the peak resident memory of the
// address space that called execve, and with vfork that is the caller's whole space. A forked child owns only its
// caller's anonymous pages. So start programs while the caller is still small; then this floor lies below the needs of
// any dynamically linked program. The child has the caller's signal mask and dispositions, except for handlers, which
// exec resets. Thread-safe if no other thread changes the environment meanwhile.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millpond::measure {

struct start_options {
    // Variables to set, or to remove if the value is null; the last change of a name wins. All others are inherited.
    std::vector<std::pair<std::string, std::optional<std::string>>> environment;
    // Files for the standard streams; empty means inherited. Output files are created or truncated; equal paths share
    // one file.
    std::string stdin_path, stdout_path, stderr_path;
    // True: the program is killed when the caller dies, so that an abandoned measurement does not disturb the next one.
    bool dies_with_caller = false;
};

// Starts `path` (as find_program or check_preloadable resolved it) with `arguments`, argv[0] included.
// The caller waits for it. Throws failure: an exec that fails (status 5), a standard stream that cannot be
// opened (3 for input, 4 for output).
pid_t start(const std::string& path, const std::vector<std::string>& arguments, const start_options& options);

// Returns LD_PRELOAD's value with `library` in front of the present ones, so that the user's own preloads keep working,
// behind ours.
std::string preload_value(const std::string& library);

}  // namespace millpond::measure
